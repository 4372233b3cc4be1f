// A training plan, for people and for programs.
#include "cli/views/plan_train_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "cli/views/panel.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

std::string where_text(const TrainingPlanResult& p) {
  return fmt::format("{} GPU{} of {}{}", p.gpus, p.gpus == 1 ? "" : "s", p.cluster,
                     p.nodes > 1 ? fmt::format(" ({} nodes)", p.nodes) : "");
}

std::string step_text(const TrainingPlanResult& p) {
  const std::string batch =
      p.item == "token" ? fmt::format("{} × {} token{}", grouped(p.sequences), grouped(p.seq), p.seq == 1 ? "" : "s")
                        : fmt::format("{} {}{}", grouped(p.sequences), p.item, p.sequences == 1 ? "" : "s");
  return "train " + batch +
         (p.left_out.empty() ? "" : " (the text part alone, without " + join(p.left_out, ", ") + ")");
}

std::string layout_text(const PlannedTraining& t) {
  if (t.recompute == Recompute::none) return t.layout;
  const std::vector<std::string> modules = t.recompute.names();
  return t.layout + ", recompute" + (modules.empty() ? "" : " " + join(modules, "+"));
}

std::string days_text(double days) { return text_of(seconds(86'400 * days)); }

std::string cost_text(const TrainingPlanResult& p) {
  const TrainingRun& r = p.whole;
  if (!std::isfinite(r.days)) return "The first never finishes: it fails more often than it saves.\n";
  std::string text =
      fmt::format("The first trains on {} tokens in {} ({} – {}): {} steps, {} GPU-hours", text_of_count(p.tokens),
                  days_text(r.days), days_text(r.low_days), days_text(r.high_days),
                  grouped(static_cast<Count>(r.steps)), grouped(static_cast<Count>(r.gpu_hours)));
  if (r.usd) text += fmt::format(", {} ({})", text_of_usd(*r.usd), p.price_source);
  else text += fmt::format(" ({}: give --price or --prices)", p.price_source);
  if (r.megawatt_hours) text += ", " + text_of_energy(*r.megawatt_hours * 3.6e9) + " of the GPUs alone";
  return text + ".\n";
}

std::string failures_text(const TrainingRun& r) {
  if (!(r.hours_between_failures > 0) || !std::isfinite(r.days)) return "";
  std::string text = fmt::format("Goodput {:.1f} %: one failure in {} ({:.2g} in all)", 100 * r.goodput,
                                 days_text(r.hours_between_failures / 24), r.failures);
  if (r.checkpoint_minutes > 0)
    text += fmt::format(", a checkpoint of {} every {} of work, {} each", text_of(r.checkpoint),
                        days_text(r.checkpoint_minutes / 60 / 24), text_of(r.checkpoint_time));
  return text + ".\n";
}

// Whether what was asked for is met, and by how much not.
std::string limits_text(const TrainingPlanResult& p) {
  std::string text;
  if (!std::isfinite(p.whole.days)) return text;
  if (p.deadline)
    text += p.whole.days <= *p.deadline ? fmt::format("It meets the deadline of {}", days_text(*p.deadline))
                                        : fmt::format("It misses the deadline of {} by {}", days_text(*p.deadline),
                                                      days_text(p.whole.days - *p.deadline));
  if (p.deadline && p.whole.days <= *p.deadline && p.whole.high_days > *p.deadline)
    text += ", though not at the slow end of its interval";
  if (!text.empty()) text += ".\n";
  if (p.budget && p.whole.usd)
    text += *p.whole.usd <= *p.budget ? fmt::format("It stays within the budget of {}.\n", text_of_usd(*p.budget))
                                      : fmt::format("It exceeds the budget of {} by {}.\n", text_of_usd(*p.budget),
                                                    text_of_usd(*p.whole.usd - *p.budget));
  return text;
}

std::string advice_text(const TrainingPlanResult& p) {
  if (p.advice.empty()) return "";
  std::string text = "What would shorten it:\n";
  for (const TrainingAdvice& a : p.advice) text += fmt::format("  {:>4}  {}\n", percent(a.gain), a.what);
  return text;
}

std::string scaling_text(const TrainingPlanResult& p) {
  if (p.strong.empty()) return "";
  Table table({{"GPUs"}, {"global batch"}, {"best layout", Align::left}, {"tokens/s"}, {"MFU"}, {"time to finish"}});
  for (const std::vector<ScalingPoint>* points : {&p.strong, &p.weak}) {
    for (const ScalingPoint& s : *points) {
      if (points == &p.weak && s.gpus == p.gpus) continue;  // the same as above
      table.add({fmt::format("{}", s.gpus), grouped(s.global_batch), s.layout.empty() ? "nothing fits" : s.layout,
                 s.layout.empty() ? "–" : text_of_rate(s.tokens_per_second),
                 s.layout.empty() ? "–" : percent(s.utilisation), s.layout.empty() ? "–" : days_text(s.days)});
    }
  }
  return "\nOn other numbers of GPUs, with the same global batch and with one that grows along:\n\n" + table.shown();
}

}  // namespace

Error no_layout(const TrainingPlanResult& p) {
  return field_error("gpus",
                     fmt::format("none of {} layouts fits {}: the smallest ({}, micro-batch {}) needs {} of a GPU's {}",
                                 grouped(p.tried), where_text(p), layout_text(p.smallest), p.smallest.micro_batch,
                                 text_of(p.smallest.memory), text_of(p.gpu_memory)),
                     "use more GPUs, a smaller global batch or shorter sequences");
}

std::string plan_train_text(const TrainingPlanResult& p) {
  Table table({{"#"},
               {"layout", Align::left},
               {"micro-batch"},
               {"step"},
               {"80 % interval"},
               {"tokens/s/GPU"},
               {"MFU"},
               {"bubble"},
               {"exposed"},
               {"memory"}});
  for (std::size_t i = 0; i < p.ranked.size(); ++i) {
    const PlannedTraining& t = p.ranked[i];
    table.add({fmt::format("{}", i + 1), layout_text(t), fmt::format("{}", t.micro_batch), text_of(t.step),
               text_of(t.interval.low) + " – " + text_of(t.interval.high), text_of_rate(t.tokens_per_second / p.gpus),
               percent(t.utilisation), percent(t.bubble / t.step), percent(t.exposed / t.step), text_of(t.memory)});
  }
  std::string notes;
  for (const std::string& note : p.notes) notes += note_word("Note:") + " " + note + "\n";
  return fmt::format("{}, {} on {}: {} layouts tried, {} fit\n", p.model, step_text(p), where_text(p), grouped(p.tried),
                     grouped(p.fit)) +
         notes + "\n" + table.shown() + "\n" + cost_text(p) + failures_text(p.whole) + limits_text(p) + advice_text(p) +
         scaling_text(p);
}

std::string scaling_plot(const TrainingPlanResult& p) {
  constexpr double kLeft = 84, kTop = 44, kPanel = 300, kBetween = 100, kHigh = 240;
  Svg svg(kLeft + 2 * kPanel + kBetween + 24, kTop + kHigh + 50, p.model + " on more and fewer GPUs");
  const auto draw = [&](double left, const char* words, auto&& value) {
    double most_x = 0, most_y = 0;
    for (const auto* points : {&p.strong, &p.weak})
      for (const ScalingPoint& s : *points)
        if (!s.layout.empty())
          most_x = std::max(most_x, static_cast<double>(s.gpus)), most_y = std::max(most_y, value(s));
    const Panel panel(svg, left, kTop, kPanel, kHigh, most_x, most_y);
    panel.axes("GPUs", words);
    for (const auto* points : {&p.weak, &p.strong}) {
      const std::string_view ink = points == &p.strong ? colour::kBlue : colour::kOrange;
      std::vector<std::pair<double, double>> line;
      for (const ScalingPoint& s : *points)
        if (!s.layout.empty()) line.emplace_back(s.gpus, value(s));
      panel.curve(line, ink);
      for (const auto& [x, y] : line) panel.dot(x, y, 6, ink);
    }
  };
  draw(kLeft, "million tokens/s", [](const ScalingPoint& s) { return s.tokens_per_second * 1e-6; });
  draw(kLeft + kPanel + kBetween, "MFU, %", [](const ScalingPoint& s) { return 100 * s.utilisation; });
  svg.text(kLeft + 8, kTop - 6, "same global batch", {.fill = colour::kBlue});
  svg.text(kLeft + 128, kTop - 6, "batch grows with the GPUs", {.fill = colour::kOrange});
  return svg.file();
}

}  // namespace tilecast
