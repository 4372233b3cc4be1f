// Plans of trainings, for people and for programs.
#include <fmt/format.h>

#include <algorithm>

#include "api/step_run.h"
#include "cli/commands/parallel_command.h"
#include "cli/terminal/units_text.h"
#include "cli/views/predict_view.h"
#include "cli/views/step_json.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string size_of(const Cluster& cluster, int gpus) { return gpus_text(cluster.name, gpus, cluster.gpus_per_node); }

double ms(Seconds t) { return t.base() * 1e3; }

std::string short_name(const PlannedLayout& p) {
  return text_of(p.run.layout) + (p.run.run.training.options.recompute == Recompute::full ? ", recompute" : "");
}

}  // namespace

Error no_plan(const TrainingQuery& q, const TrainingPlan& plan) {
  return Error{"--gpus", "",
               fmt::format("none of {} layouts fits {}: the smallest ({}, micro-batch {}) needs {} of a GPU's {}",
                           grouped(plan.tried), size_of(q.cluster, q.gpus), short_name(plan.smallest),
                           plan.smallest.run.micro_batch, text_of(plan.smallest.memory),
                           text_of(q.cluster.gpu.dram.size)),
               "use more GPUs, a smaller global batch or shorter sequences"};
}

std::string plan_table(const TrainingQuery& q, const TrainingPlan& plan, const PlanOptions& o, const TrainingCost& cost,
                       const std::string& price_note) {
  std::string out =
      fmt::format("{}, {} on {}: {} layouts tried, {} fit\n\n", name_of(q.run.model), describe(setting_of(q.run)),
                  size_of(q.cluster, q.gpus), grouped(plan.tried), grouped(static_cast<Count>(plan.ranked.size())));
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
  for (std::size_t i = 0; i < plan.ranked.size() && i < static_cast<std::size_t>(std::max<Count>(o.top, 1)); ++i) {
    const PlannedLayout& p = plan.ranked[i];
    table.add({fmt::format("{}", i + 1), short_name(p), fmt::format("{}", p.run.micro_batch), text_of(p.step),
               text_of(p.interval.low) + " – " + text_of(p.interval.high),
               grouped(static_cast<Count>(p.tokens_per_second / q.gpus)), percent(p.utilisation),
               percent(p.bubble / p.step), percent(p.exposed / p.step), text_of(p.memory)});
  }
  out += table.text() + "\n";
  out += fmt::format("The first trains on {:.3g} tokens in {}: {} GPU-hours", o.tokens, text_of_days(cost.days),
                     grouped(static_cast<Count>(cost.gpu_hours)));
  out += cost.usd > 0 ? fmt::format(", ${} ({}).\n", grouped(static_cast<Count>(cost.usd)), price_note)
                      : fmt::format(" ({}).\n", price_note);
  return out;
}

std::string plan_json(const TrainingQuery& q, const TrainingPlan& plan, const PlanOptions& o,
                      const TrainingCost& cost) {
  Json ranked = Json::array();
  for (const PlannedLayout& p : plan.ranked) {
    if (static_cast<Count>(ranked.size()) >= std::max<Count>(o.top, 1)) break;
    ranked.push_back(Json{{"layout", layout_json(p.run.layout)},
                      {"micro_batch", p.run.micro_batch},
                      {"recompute", p.run.run.training.options.recompute == Recompute::full ? "full" : "none"},
                      {"step_ms", ms(p.step)},
                      {"interval_ms", {ms(p.interval.low), ms(p.interval.high)}},
                      {"tokens_per_second", p.tokens_per_second},
                      {"tokens_per_second_per_gpu", p.tokens_per_second / q.gpus},
                      {"mfu", p.utilisation},
                      {"bubble_ms", ms(p.bubble)},
                      {"exposed_ms", ms(p.exposed)},
                      {"memory_bytes", p.memory.base()}});
  }
  const Json all{{"model", name_of(q.run.model)}, {"cluster", q.cluster.name}, {"gpus", q.gpus},
                 {"tried", plan.tried},           {"fit", plan.ranked.size()}, {"tokens", o.tokens},
                 {"gpu_hours", cost.gpu_hours},   {"usd", cost.usd},           {"ranked", ranked}};
  return json_text(all);
}

}  // namespace tilecast
