// Steps of one GPU as tables for people.
#include "cli/views/predict_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {

std::string describe(const StepSetting& s) {
  if (s.given_shapes) return s.mode == Mode::train ? "one training step" : "one pass";
  std::vector<std::string> parts;
  for (const Requests& r : s.requests)
    parts.push_back(s.item != "token"
                        ? fmt::format("{} {}{}", grouped(r.count), s.item, r.count == 1 ? "" : "s")
                        : fmt::format("{} × {} token{}{}", grouped(r.count), grouped(r.new_tokens),
                                      r.new_tokens == 1 ? "" : "s", r.cached > 0 ? " after " + grouped(r.cached) : ""));
  return std::string(name_of(s.mode)) + " " + join(parts, ", ") +
         (s.left_out.empty() ? "" : " (the text part alone, without " + join(s.left_out, ", ") + ")");
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "\n" + note_word("Note:") + " " + note + ".\n";
  return text;
}

namespace {

std::string limit_text(const std::optional<Resource>& limit) { return limit ? std::string(name_of(*limit)) : ""; }

void add_shares(Table& table, std::vector<StepShare> shares, Seconds whole, bool sorted) {
  if (sorted) std::stable_sort(shares.begin(), shares.end(), [](auto& a, auto& b) { return a.time > b.time; });
  for (const StepShare& share : shares)
    table.add({share.name, text_of(share.time), percent(share.time / whole), grouped(share.launches),
               percent(share.bound / share.time), limit_text(share.limited_by)});
}

std::string label_of(const StepForecast& step, std::span<const StepForecast> all) {
  std::string label = step.setting.gpu;
  for (const StepForecast& other : all) {
    if (other.setting.engine != step.setting.engine && label.find(' ') == std::string::npos)
      label += " " + std::string(name_of(step.setting.engine));
  }
  for (const StepForecast& other : all)
    if (other.setting.dtype != step.setting.dtype) return label + " " + step.setting.dtype;
  return label;
}

// Where a step runs, and in what, so far as steps differ in it.
std::string place_label(const StepForecast& step, const std::vector<StepForecast>& all) {
  const auto differs = [&](auto value) {
    return std::any_of(all.begin(), all.end(), [&](const StepForecast& s) { return value(s) != value(step); });
  };
  std::vector<std::string> parts;
  const auto add = [&](auto value) {
    if (differs(value)) parts.emplace_back(value(step));
  };
  add([](const StepForecast& s) { return s.setting.cluster.empty() ? s.setting.gpu : s.setting.cluster; });
  add([](const StepForecast& s) { return std::string(name_of(s.setting.engine)); });
  add([](const StepForecast& s) { return s.setting.dtype; });
  return join(parts, " ");
}

std::vector<std::string> name_cells(const StepSetting& s) { return {s.gpu, std::string(name_of(s.engine)), s.dtype}; }

}  // namespace

std::string notes_text(const std::vector<StepForecast>& steps) {
  std::vector<std::string> lines;
  for (const StepForecast& step : steps)
    for (const std::string& note : step.notes) {
      const bool everywhere = std::all_of(steps.begin(), steps.end(), [&](const StepForecast& s) {
        return std::find(s.notes.begin(), s.notes.end(), note) != s.notes.end();
      });
      const std::string place = everywhere ? "" : place_label(step, steps);
      std::string line = note.starts_with(place) ? note : fmt::format("{}: {}", place, note);
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    }
  return notes_text(lines);
}

std::string predict_table(const StepRows& rows) {
  const StepForecast& first = first_that_runs(rows);
  std::string out = fmt::format("{}, {}\n\n", first.setting.model, describe(first.setting));
  Table table({{"GPU", Align::left},
               {"engine", Align::left},
               {"dtype", Align::left},
               {"step"},
               {"80 % interval"},
               {first.setting.item + "s/s"},
               {"MFU"},
               {"limited by", Align::left},
               {"memory"},
               {"fits", Align::left},
               {"speed"},
               {"seen", Align::left}});
  for (const Row<StepForecast>& row : rows) {
    std::vector<std::string> cells = name_cells(row.setting);
    if (!row.answer) {
      table.add(refused_cells(std::move(cells), row.answer.error(), 8));
      continue;
    }
    const StepForecast& s = *row.answer;
    cells.insert(
        cells.end(),
        {text_of(s.time), text_of_interval(s.interval.low, s.interval.high),
         s.setting.given_shapes ? "–" : text_of_rate(s.tokens_per_second), percent(s.mfu),
         s.host_bound ? "host" : limit_text(s.limited_by),
         fmt::format("{:.1f} of {:.0f} GiB", in_gibibytes(s.memory.need.total()), in_gibibytes(s.setting.gpu_memory)),
         fits_text(s.memory.fits()), three_digits(first.time / s.time) + "×", seen_text(name_of(s.seen))});
    table.add(std::move(cells));
  }
  return out + table.shown();
}

std::string breakdown_text(const StepForecast& step) {
  std::string out =
      fmt::format("Where the time goes on {} ({}, {}): kernels {}, host launches {}\n\n", step.setting.gpu,
                  name_of(step.setting.engine), step.setting.dtype, text_of(step.gpu), text_of(step.host));
  const auto columns = [](const char* title) {
    return std::vector<Table::Column>{{title, Align::left}, {"time"},       {"share"},
                                      {"launches"},         {"efficiency"}, {"limited by", Align::left}};
  };
  Table classes(columns("class"));
  add_shares(classes, step.by_class, step.gpu, true);
  Table sections(columns("section"));
  add_shares(sections, step.by_section, step.gpu, false);
  return out + classes.shown(2) + "\n" + sections.shown(2);
}

std::string compare_table(std::span<const StepForecast> steps) {
  std::vector<Table::Column> columns = {{"class", Align::left}};
  for (const StepForecast& step : steps) columns.push_back({label_of(step, steps)});
  Table table(std::move(columns));
  std::vector<std::string> names;
  for (const StepForecast& step : steps)
    for (const StepShare& share : step.by_class)
      if (std::find(names.begin(), names.end(), share.name) == names.end()) names.push_back(share.name);
  const auto time_of = [](const std::vector<StepShare>& list, const std::string& name) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const StepShare& share) { return share.name == name; });
    return at == list.end() ? seconds(0) : at->time;
  };
  const auto row = [&](const std::string& name, auto value) {
    std::vector<std::string> cells = {name};
    const Seconds base = value(steps.front());
    for (const StepForecast& step : steps) {
      const Seconds t = value(step);
      cells.push_back(t > seconds(0) ? fmt::format("{} ({}×)", text_of(t), three_digits(base / t)) : "–");
    }
    table.add(std::move(cells));
  };
  for (const std::string& name : names) row(name, [&](const StepForecast& s) { return time_of(s.by_class, name); });
  row("step", [](const StepForecast& s) { return s.time; });
  return table.shown();
}

std::string kernels_table(const StepForecast& step) {
  Table table({{"section", Align::left},
               {"kernel", Align::left},
               {"shape", Align::left},
               {"dtype", Align::left},
               {"times"},
               {"each"},
               {"total"},
               {"limited by", Align::left},
               {"seen", Align::left}});
  for (const StepKernel& k : step.kernels) {
    std::string shape = k.family + " " + k.shape;
    if (shape.size() > 70) shape = shape.substr(0, 67) + "...";
    table.add({step.sections[k.section].name, k.name, shape, k.dtype, grouped(k.times), text_of(k.each),
               text_of(k.each * static_cast<double>(k.times)), std::string(name_of(k.limited_by)),
               seen_text(name_of(k.seen))});
  }
  return table.shown();
}

}  // namespace tilecast
