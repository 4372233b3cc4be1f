// Forecasts of models as tables for people.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/predict_command.h"
#include "cli/terminal/units_text.h"
#include "engine/step_parts.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {

std::string grouped(Count n) {  // 131072 -> 131,072
  std::string digits = std::to_string(n);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string_view item_of(const Run& run) {
  const auto* spec = std::get_if<ModelSpec>(&run.model);
  if (spec && spec->patches) return "image";
  return spec && spec->audio && !spec->decoder ? "clip" : "token";
}

std::string describe(const Run& run) {
  const Workload& w = run.workload;
  if (std::holds_alternative<Graph>(run.model)) return w.mode == Mode::train ? "one training step" : "one pass";
  std::vector<std::string> parts;
  const std::string_view item = item_of(run);
  for (const Requests& r : w.requests)
    parts.push_back(item != "token"
                        ? fmt::format("{} {}{}", grouped(r.count), item, r.count == 1 ? "" : "s")
                        : fmt::format("{} × {} token{}{}", r.count, grouped(r.new_tokens), r.new_tokens == 1 ? "" : "s",
                                      r.cached > 0 ? " after " + grouped(r.cached) : ""));
  const auto& left_out = std::get<ModelSpec>(run.model).left_out;
  return std::string(name_of(w.mode)) + " " + join(parts, ", ") +
         (left_out.empty() ? "" : " (the text part alone, without " + join(left_out, ", ") + ")");
}

namespace {

std::string_view limit_of(const StepPart& part) {
  const auto limit = part.limited_by();
  return limit ? name_of(*limit) : "";
}
std::string_view limit_of(const Variant& v) {
  return v.forecast.step.host_bound() ? "host" : limit_of(whole_step(v.prepared.program, v.forecast.step));
}
std::vector<StepPart> classes_of(const Variant& v) { return step_classes(v.prepared.program, v.forecast.step); }

void add_parts(Table& table, std::vector<StepPart> parts, Seconds whole, bool sorted) {
  if (sorted) std::stable_sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.time > b.time; });
  for (const StepPart& part : parts)
    table.add({part.name, text_of(part.time), percent(part.time / whole), grouped(part.launches),
               percent(part.bound / part.time), std::string(limit_of(part))});
}

std::string label_of(const Variant& v, const std::vector<Variant>& all) {
  std::string label = v.gpu.name;
  for (const Variant& other : all) {
    if (other.run.engine.kind != v.run.engine.kind && label.find(' ') == std::string::npos)
      label += " " + std::string(name_of(v.run.engine.kind));
  }
  for (const Variant& other : all)
    if (other.run.engine.precision.linear.name != v.run.engine.precision.linear.name)
      return label + " " + std::string(v.run.engine.precision.linear.name);
  return label;
}

}  // namespace

std::string predict_table(const std::vector<Variant>& variants) {
  const Variant& first = *std::find_if(variants.begin(), variants.end(), [](const Variant& v) { return !v.refused; });
  std::string out = fmt::format("{}, {}\n\n", name_of(first.run.model), describe(first.run));
  Table table({{"GPU", Align::left},
               {"engine", Align::left},
               {"dtype", Align::left},
               {"step"},
               {"80 % interval"},
               {std::string(item_of(first.run)) + "s/s"},
               {"MFU"},
               {"limited by", Align::left},
               {"memory"},
               {"fits", Align::left},
               {"speed"},
               {"seen", Align::left}});
  for (const Variant& v : variants) {
    const RunForecast& f = v.forecast;
    if (v.refused) {
      std::vector<std::string> cells = {v.gpu.name, std::string(name_of(v.run.engine.kind)),
                                        std::string(v.run.engine.precision.linear.name)};
      cells.insert(cells.end(), 8, "–");
      cells.push_back("cannot run: " + v.refused->problem);
      table.add(std::move(cells));
      continue;
    }
    table.add({v.gpu.name, std::string(name_of(v.run.engine.kind)), std::string(v.run.engine.precision.linear.name),
               text_of(f.step.total), text_of(f.step.interval.low) + " – " + text_of(f.step.interval.high),
               std::holds_alternative<Graph>(v.run.model) ? "–" : grouped(static_cast<Count>(f.tokens_per_second)),
               percent(f.utilisation), std::string(limit_of(v)),
               fmt::format("{:.1f} of {:.0f} GiB", in_gibibytes(f.memory.total()), in_gibibytes(v.gpu.dram.size)),
               f.fits() ? "yes" : "no", three_digits(first.forecast.step.total / f.step.total) + "×",
               std::string(name_of(seen_of(v.prepared.program, f.step)))});
  }
  return out + table.text();
}

std::string breakdown_text(const Variant& v) {
  const StepForecast& step = v.forecast.step;
  std::string out = fmt::format("Where the time goes on {} ({}, {}): kernels {}, host launches {}\n\n", v.gpu.name,
                                name_of(v.run.engine.kind), v.run.engine.precision.linear.name, text_of(step.gpu),
                                text_of(step.host));
  const auto columns = [](const char* title) {
    return std::vector<Table::Column>{{title, Align::left}, {"time"},       {"share"},
                                      {"launches"},         {"efficiency"}, {"limited by", Align::left}};
  };
  Table classes(columns("class"));
  add_parts(classes, classes_of(v), step.gpu, true);
  Table sections(columns("section"));
  add_parts(sections,
            step_parts(v.prepared.program, step,
                       [&](const KernelCall& call) {
                         const ProgramSection& s = v.prepared.program.sections[call.section];
                         std::string name = s.pass == Pass::forward ? "" : std::string(name_of(s.pass)) + " ";
                         if (s.pass == Pass::optimizer) name.clear();
                         name += s.name;
                         return s.repeats > 1 ? fmt::format("{} × {}", name, s.repeats) : name;
                       }),
            step.gpu, false);
  return out + classes.text(2) + "\n" + sections.text(2);
}

std::string compare_table(const std::vector<Variant>& variants) {
  std::vector<Table::Column> columns = {{"class", Align::left}};
  for (const Variant& v : variants) columns.push_back({label_of(v, variants)});
  Table table(std::move(columns));
  std::vector<std::string> names;
  std::vector<std::vector<StepPart>> parts;
  for (const Variant& v : variants) {
    parts.push_back(classes_of(v));
    for (const StepPart& part : parts.back())
      if (std::find(names.begin(), names.end(), part.name) == names.end()) names.push_back(part.name);
  }
  const auto time_of = [](const std::vector<StepPart>& list, const std::string& name) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const StepPart& p) { return p.name == name; });
    return at == list.end() ? seconds(0) : at->time;
  };
  const auto row = [&](const std::string& name, auto value) {
    std::vector<std::string> cells = {name};
    const Seconds base = value(0);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const Seconds t = value(i);
      cells.push_back(t > seconds(0) ? fmt::format("{} ({}×)", text_of(t), three_digits(base / t)) : "–");
    }
    table.add(std::move(cells));
  };
  for (const std::string& name : names) row(name, [&](std::size_t i) { return time_of(parts[i], name); });
  row("step", [&](std::size_t i) { return variants[i].forecast.step.total; });
  return table.text();
}

std::string kernels_table(const Variant& v) {
  Table table({{"section", Align::left},
               {"kernel", Align::left},
               {"shape", Align::left},
               {"dtype", Align::left},
               {"times"},
               {"each"},
               {"total"},
               {"limited by", Align::left},
               {"seen", Align::left}});
  for (std::size_t i = 0; i < v.forecast.step.calls.size(); ++i) {
    const KernelCall& call = v.prepared.program.calls[i];
    const CallForecast& c = v.forecast.step.calls[i];
    std::string shape = std::string(family_of(call.kernel.shape)) + " " + dims_text(call.kernel.shape);
    if (shape.size() > 70) shape = shape.substr(0, 67) + "...";
    table.add({v.prepared.program.sections[call.section].name, call.name, shape, std::string(call.kernel.format.name),
               grouped(call.times), text_of(c.each), text_of(c.each * static_cast<double>(call.times)),
               std::string(name_of(c.limited_by)), std::string(name_of(c.seen))});
  }
  return table.text();
}

}  // namespace tilecast
