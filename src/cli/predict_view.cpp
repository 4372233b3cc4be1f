// Forecasts of models as tables for people.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/predict_command.h"
#include "cli/table.h"
#include "cli/units_text.h"
#include "support/text.h"

namespace tilecast {

std::string grouped(Count n) {  // 131072 -> 131,072
  std::string digits = std::to_string(n);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string describe(const Run& run) {
  const Workload& w = run.workload;
  if (std::holds_alternative<Graph>(run.model)) return w.mode == Mode::train ? "one training step" : "one pass";
  std::vector<std::string> parts;
  for (const Requests& r : w.requests)
    parts.push_back(fmt::format("{} × {} token{}{}", r.count, grouped(r.new_tokens), r.new_tokens == 1 ? "" : "s",
                                r.cached > 0 ? " after " + grouped(r.cached) : ""));
  return std::string(name_of(w.mode)) + " " + join(parts, ", ");
}

namespace {

// What most of the step's time is limited by.
std::string_view limit_of(const Variant& v) {
  if (v.forecast.step.host_bound()) return "host";
  std::map<Resource, Seconds> by;
  for (std::size_t i = 0; i < v.forecast.step.calls.size(); ++i) {
    const CallForecast& c = v.forecast.step.calls[i];
    by[c.limited_by] += c.each * static_cast<double>(v.prepared.program.calls[i].times);
  }
  const auto most = std::max_element(by.begin(), by.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return most == by.end() ? "" : name_of(most->first);
}

// How the card stands to the kernels that take the time: of more than half of it, the weakest claim.
std::string seen_share(const Variant& v) {
  Seconds seen, sibling, all;
  for (std::size_t i = 0; i < v.forecast.step.calls.size(); ++i) {
    const CallForecast& c = v.forecast.step.calls[i];
    const Seconds t = c.each * static_cast<double>(v.prepared.program.calls[i].times);
    all += t;
    if (c.seen == Seen::yes) seen += t;
    if (c.seen != Seen::no) sibling += t;
  }
  if (seen > all * 0.5) return "yes";
  return sibling > all * 0.5 ? "sibling" : "no";
}

struct Part {
  Seconds time, bound;
  Count launches = 0;
  std::map<Resource, Seconds> limits;
  std::string_view limit() const {
    const auto most =
        std::max_element(limits.begin(), limits.end(), [](auto& a, auto& b) { return a.second < b.second; });
    return most == limits.end() ? "" : name_of(most->first);
  }
};
using Parts = std::vector<std::pair<std::string, Part>>;  // in order of first appearance

template <class Key>
Parts parts_of(const Variant& v, Key key) {
  Parts parts;
  for (std::size_t i = 0; i < v.forecast.step.calls.size(); ++i) {
    const KernelCall& call = v.prepared.program.calls[i];
    const CallForecast& c = v.forecast.step.calls[i];
    const std::string name = key(call);
    auto at = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == name; });
    if (at == parts.end()) at = parts.insert(parts.end(), {name, Part{}});
    const auto times = static_cast<double>(call.times);
    at->second.time += c.each * times;
    at->second.bound += c.bound * times;
    at->second.launches += call.times;
    at->second.limits[c.limited_by] += c.each * times;
  }
  return parts;
}

std::string class_key(const KernelCall& call) {
  return call.unknown ? "unknown (memory traffic only)" : std::string(name_of(call.op_class));
}

void add_parts(Table& table, Parts parts, Seconds whole, bool sorted) {
  if (sorted)
    std::stable_sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.second.time > b.second.time; });
  for (const auto& [name, part] : parts)
    table.add({name, text_of(part.time), percent(part.time / whole), grouped(part.launches),
               percent(part.bound / part.time), std::string(part.limit())});
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
  const Variant& first = variants.front();
  std::string out = fmt::format("{}, {}\n\n", name_of(first.run.model), describe(first.run));
  Table table({{"GPU", Align::left},
               {"engine", Align::left},
               {"dtype", Align::left},
               {"step"},
               {"80 % interval"},
               {"tokens/s"},
               {"MFU"},
               {"limited by", Align::left},
               {"memory"},
               {"fits", Align::left},
               {"speed"},
               {"seen", Align::left}});
  for (const Variant& v : variants) {
    const RunForecast& f = v.forecast;
    table.add({v.gpu.name, std::string(name_of(v.run.engine.kind)), std::string(v.run.engine.precision.linear.name),
               text_of(f.step.total), text_of(f.step.interval.low) + " – " + text_of(f.step.interval.high),
               std::holds_alternative<Graph>(v.run.model) ? "–" : grouped(static_cast<Count>(f.tokens_per_second)),
               percent(f.utilisation), std::string(limit_of(v)),
               fmt::format("{:.1f} of {:.0f} GiB", in_gibibytes(f.memory.total()), in_gibibytes(v.gpu.dram.size)),
               f.fits() ? "yes" : "no", three_digits(first.forecast.step.total / f.step.total) + "×", seen_share(v)});
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
  add_parts(classes, parts_of(v, class_key), step.gpu, true);
  Table sections(columns("section"));
  add_parts(sections,
            parts_of(v,
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
  std::vector<Parts> parts;
  for (const Variant& v : variants) {
    parts.push_back(parts_of(v, class_key));
    for (const auto& [name, part] : parts.back())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const auto time_of = [](const Parts& list, const std::string& name) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const auto& p) { return p.first == name; });
    return at == list.end() ? seconds(0) : at->second.time;
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
