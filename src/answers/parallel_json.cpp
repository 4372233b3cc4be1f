// Steps over many GPUs, for programs (docs/json.md).
#include <algorithm>

#include "answers/documents.h"
#include "answers/step_json.h"

namespace tilecast {

Json layout_json(const RankLayout& l) {
  return Json{{"tp", l.tp},
              {"cp", l.cp},
              {"dp", l.dp},
              {"pp", l.pp},
              {"ep", l.ep},
              {"expert_tp", l.expert_width()},
              {"sequence_parallel", l.sequence_parallel},
              {"context", name_of(l.context)},
              {"schedule", name_of(l.schedule)},
              {"chunks", l.chunks},
              {"sharding", name_of(l.sharding)},
              {"shard_group", l.shard_group},
              {"overlap", l.overlap}};
}

namespace {

Json rank_memory_json(const StepMemory& memory) {
  return Json{{"memory_bytes", memory_json(memory.need)},
              {"usable_bytes", in_bytes(memory.usable)},
              {"cache_room_tokens", memory.cache_tokens}};
}

Json stage_json(const StepStage& s) {
  Json json{
      {"layers", s.layers}, {"forward_ms", in_milliseconds(s.forward)}, {"backward_ms", in_milliseconds(s.backward)}};
  json.update(rank_memory_json(s.memory));
  return json;
}

Json exchange_json(const StepExchange& e) {
  return Json{{"name", e.name},
              {"axis", name_of(e.axis)},
              {"pass", e.pass},
              {"op", e.op},
              {"bytes", in_bytes(e.size)},
              {"ranks", e.ranks},
              {"times", e.times},
              {"beside_compute", e.beside},
              {"latency_us", in_microseconds(e.latency)},
              {"algorithm", e.algorithm}};
}

// Tasks as lists: a pipeline has thousands of them.
Json timeline_json(const StepTimeline& timeline) {
  Json tasks = Json::array();
  for (const StepTask& t : timeline.tasks)
    tasks.push_back(
        Json{t.rank, t.name, t.micro_batch, t.chunk, in_milliseconds(t.begin), in_milliseconds(t.end), t.beside});
  return Json{{"ranks", timeline.ranks},
              {"gpus_a_rank", timeline.alike},
              {"left_out", timeline.left_out},
              {"columns", {"rank", "task", "micro_batch", "chunk", "begin_ms", "end_ms", "beside"}},
              {"tasks", tasks}};
}

Json refused_json(const StepSetting& s, const Error& why) {
  return Json{{"model", s.model},        {"cluster", s.cluster},        {"gpu", s.gpu},
              {"mode", name_of(s.mode)}, {"engine", name_of(s.engine)}, {"dtype", s.dtype},
              {"error", why.line()}};
}

// What was asked of which ranks.
Json setting_json(const StepSetting& s) {
  return Json{{"model", s.model},
              {"cluster", s.cluster},
              {"gpu", s.gpu},
              {"gpus", s.gpus},
              {"layout", layout_json(s.layout)},
              {"mode", name_of(s.mode)},
              {"engine", name_of(s.engine)},
              {"dtype", s.dtype}};
}

Json parallel_row_json(const Row<StepForecast>& row) {
  if (!row.answer) return refused_json(row.setting, row.answer.error());
  const StepForecast& f = *row.answer;
  const StepOverMany& many = *f.many;
  Json axes = Json::object(), stages = Json::array(), exchanges = Json::array();
  for (const StepAxis& axis : many.axes)
    if (axis.total > seconds(0))
      axes[name_of(axis.axis)] =
          Json{{"total_ms", in_milliseconds(axis.total)}, {"exposed_ms", in_milliseconds(axis.exposed)}};
  for (const StepStage& stage : many.stages) stages.push_back(stage_json(stage));
  for (const StepExchange& exchange : many.exchanges) exchanges.push_back(exchange_json(exchange));
  Json json = setting_json(f.setting);
  json.update(Json{{"micro_batches", many.micro_batches},
                   {"step_ms", in_milliseconds(f.time)},
                   {"interval_ms", {in_milliseconds(f.interval.low), in_milliseconds(f.interval.high)}},
                   {"bound_ms", in_milliseconds(f.bound)},
                   {"tokens_per_second", f.tokens_per_second},
                   {"tokens_per_second_per_gpu", f.tokens_per_second / f.setting.gpus},
                   {"mfu", f.mfu},
                   {"energy_j", f.joules ? Json(*f.joules) : Json()},
                   {"compute_ms", in_milliseconds(many.compute)},
                   {"bubble_ms", in_milliseconds(many.bubble)},
                   {"optimizer_ms", in_milliseconds(many.optimizer)},
                   {"exposed_ms", in_milliseconds(many.exposed)},
                   {"axes", axes},
                   {"stages", stages},
                   {"usable_bytes", in_bytes(many.usable)},
                   {"fits", many.fits},
                   {"seen", name_of(f.seen)},
                   {"exchanges", exchanges},
                   {"kernels", kernels_json(f)},
                   {"notes", f.notes}});
  if (many.timeline) json["timeline"] = timeline_json(*many.timeline);
  return json;
}

}  // namespace

Json spread_memory_json(const Row<MemoryForecast>& row) {
  if (!row.answer) return refused_json(row.setting, row.answer.error());
  Json stages = Json::array();
  Bytes least = row.answer->stages.front().usable;
  for (const StepMemory& stage : row.answer->stages) {
    stages.push_back(rank_memory_json(stage));
    least = std::min(least, stage.usable);
  }
  Json json = setting_json(row.answer->setting);
  json.update(Json{{"stages", stages},
                   {"usable_bytes", in_bytes(least)},
                   {"fits", row.answer->fits()},
                   {"largest_batch", row.answer->largest_batch},
                   {"longest_sequence", row.answer->longest_sequence},
                   {"ended_by_model", row.answer->ended_by_model},
                   {"notes", row.answer->notes}});
  return json;
}

std::string parallel_json(const StepRows& rows) {
  Json list = Json::array();
  for (const Row<StepForecast>& row : rows) list.push_back(parallel_row_json(row));
  return json_text(list);
}

}  // namespace tilecast
