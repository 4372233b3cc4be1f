// A training plan, for people and for programs.
#include "cli/views/plan_train_view.h"

#include <fmt/format.h>


#include "cli/terminal/units_text.h"
#include "support/json.h"
#include "support/table.h"
#include "support/text.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

std::string where_text(const TrainingPlanResult& p) {
  return fmt::format("{} GPU{} of {}{}", p.gpus, p.gpus == 1 ? "" : "s", p.cluster,
                     p.nodes > 1 ? fmt::format(" ({} nodes)", p.nodes) : "");
}

std::string step_text(const TrainingPlanResult& p) {
  const std::string batch = p.item == "token"
                                ? fmt::format("{} × {} token{}", p.sequences, grouped(p.seq), p.seq == 1 ? "" : "s")
                                : fmt::format("{} {}{}", grouped(p.sequences), p.item, p.sequences == 1 ? "" : "s");
  return "train " + batch +
         (p.left_out.empty() ? "" : " (the text part alone, without " + join(p.left_out, ", ") + ")");
}

std::string layout_text(const PlannedTraining& t) { return t.layout + (t.recompute ? ", recompute" : ""); }

std::string cost_text(const TrainingPlanResult& p) {
  constexpr double kDay = 86400;
  const std::string time = fmt::format("The first trains on {} tokens in {}: {} GPU-hours", text_of_count(p.tokens),
                                       text_of(seconds(p.days * kDay)), grouped(static_cast<Count>(p.gpu_hours)));
  if (p.usd > 0) return time + fmt::format(", {} ({}).\n", text_of_usd(p.usd), p.price_source);
  return time + fmt::format(" ({}{}).\n", p.price_source, p.usd_per_gpu_hour ? "" : ": give --price or --prices");
}

Json layout_json(const PlannedTraining& t) {
  return Json{{"tp", t.tp},
              {"cp", t.cp},
              {"dp", t.dp},
              {"pp", t.pp},
              {"ep", t.ep},
              {"expert_tp", t.expert_tp},
              {"sequence_parallel", t.sequence_parallel},
              {"context", t.context},
              {"schedule", t.schedule},
              {"chunks", t.chunks},
              {"sharding", t.sharding},
              {"shard_group", t.shard_group},
              {"overlap", t.overlap}};
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
               text_of(t.interval.low) + " – " + text_of(t.interval.high),
               grouped(static_cast<Count>(t.tokens_per_second / p.gpus)), percent(t.utilisation),
               percent(t.bubble / t.step), percent(t.exposed / t.step), text_of(t.memory)});
  }
  return fmt::format("{}, {} on {}: {} layouts tried, {} fit\n\n", p.model, step_text(p), where_text(p),
                     grouped(p.tried), grouped(p.fit)) +
         table.text() + "\n" + cost_text(p);
}

std::string plan_train_json(const TrainingPlanResult& p) {
  Json ranked = Json::array();
  for (const PlannedTraining& t : p.ranked)
    ranked.push_back({{"layout", layout_json(t)},
                      {"micro_batch", t.micro_batch},
                      {"recompute", t.recompute ? "full" : "none"},
                      {"step_ms", in_milliseconds(t.step)},
                      {"interval_ms", {in_milliseconds(t.interval.low), in_milliseconds(t.interval.high)}},
                      {"tokens_per_second", t.tokens_per_second},
                      {"tokens_per_second_per_gpu", t.tokens_per_second / p.gpus},
                      {"mfu", t.utilisation},
                      {"bubble_ms", in_milliseconds(t.bubble)},
                      {"exposed_ms", in_milliseconds(t.exposed)},
                      {"memory_bytes", t.memory.base()}});
  const Json all{{"model", p.model},   {"cluster", p.cluster},     {"gpus", p.gpus}, {"tried", p.tried}, {"fit", p.fit},
                 {"tokens", p.tokens}, {"gpu_hours", p.gpu_hours}, {"usd", p.usd},   {"ranked", ranked}};
  return json_text(all);
}

}  // namespace tilecast
