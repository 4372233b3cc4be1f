// A training plan for programs (docs/json.md).
#include "answers/documents.h"
#include "support/json.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

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

Json run_json(const TrainingRun& r) {
  return Json{{"steps", r.steps},
              {"days", r.days},
              {"interval_days", {r.low_days, r.high_days}},
              {"undisturbed_days", r.undisturbed_days},
              {"goodput", r.goodput},
              {"failures", r.failures},
              {"hours_between_failures", r.hours_between_failures},
              {"checkpoint_bytes", r.checkpoint.base()},
              {"checkpoint_seconds", r.checkpoint_time.base()},
              {"checkpoint_interval_minutes", r.checkpoint_minutes},
              {"gpu_hours", r.gpu_hours},
              {"usd", or_null(r.usd)},
              {"megawatt_hours", or_null(r.megawatt_hours)}};
}

Json points_json(const std::vector<ScalingPoint>& points) {
  Json all = Json::array();
  for (const ScalingPoint& s : points)
    all.push_back({{"gpus", s.gpus},
                   {"global_batch", s.global_batch},
                   {"layout", s.layout.empty() ? Json() : Json(s.layout)},
                   {"tokens_per_second", s.tokens_per_second},
                   {"mfu", s.utilisation},
                   {"days", s.days},
                   {"interval_days", s.layout.empty() ? Json() : Json{s.low_days, s.high_days}}});
  return all;
}

}  // namespace

std::string plan_train_json(const TrainingPlanResult& p) {
  Json ranked = Json::array();
  for (const PlannedTraining& t : p.ranked)
    ranked.push_back({{"layout", layout_json(t)},
                      {"micro_batch", t.micro_batch},
                      {"recompute", name_of(t.recompute.kind)},
                      {"recompute_modules", t.recompute.names()},
                      {"step_ms", in_milliseconds(t.step)},
                      {"interval_ms", {in_milliseconds(t.interval.low), in_milliseconds(t.interval.high)}},
                      {"tokens_per_second", t.tokens_per_second},
                      {"tokens_per_second_per_gpu", t.tokens_per_second / p.gpus},
                      {"mfu", t.utilisation},
                      {"bubble_ms", in_milliseconds(t.bubble)},
                      {"exposed_ms", in_milliseconds(t.exposed)},
                      {"memory_bytes", t.memory.base()},
                      {"days", t.days}});
  Json all{{"model", p.model}, {"cluster", p.cluster}, {"gpus", p.gpus},
           {"tried", p.tried}, {"fit", p.fit},         {"tokens", p.tokens}};
  all.update(run_json(p.whole));
  all["ranked"] = ranked;
  all["advice"] = Json::array();
  for (const TrainingAdvice& a : p.advice) all["advice"].push_back({{"what", a.what}, {"gain", a.gain}});
  all["notes"] = p.notes;
  if (!p.tried_gpus.empty()) all["tried_gpus"] = p.tried_gpus;
  if (!p.strong.empty()) all["strong_scaling"] = points_json(p.strong), all["weak_scaling"] = points_json(p.weak);
  return json_text(all);
}

}  // namespace tilecast
