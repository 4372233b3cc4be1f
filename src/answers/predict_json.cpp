// Steps of one GPU for programs (docs/json.md).
#include "answers/documents.h"
#include "answers/step_json.h"

namespace tilecast {

Json memory_json(const MemoryNeed& m) {
  return Json{{"weights", in_bytes(m.weights)},     {"gradients", in_bytes(m.gradients)},
              {"optimizer", in_bytes(m.optimizer)}, {"activations", in_bytes(m.activations)},
              {"cache", in_bytes(m.cache)},         {"workspace", in_bytes(m.workspace)},
              {"total", in_bytes(m.total())}};
}

namespace {

Json kernel_json(const StepForecast& step, const StepKernel& k) {
  Json dims = Json::object();
  for (const auto& [name, value] : k.dims) dims[name] = value;
  const StepSection& section = step.sections[k.section];
  return Json{{"name", k.name},
              {"section", section.name},
              {"pass", section.pass},
              {"class", k.op_class},
              {"family", k.family},
              {"dtype", k.dtype},
              {"dims", dims},
              {"times", k.times},
              {"latency_us", in_microseconds(k.each)},
              {"interval_us", {in_microseconds(k.interval.low), in_microseconds(k.interval.high)}},
              {"ceiling_us", in_microseconds(k.ceiling)},
              {"bound_us", in_microseconds(k.bound)},
              {"limited_by", name_of(k.limited_by)},
              {"seen", name_of(k.seen)},
              {"unknown", k.unknown}};
}

}  // namespace

Json kernels_json(const StepForecast& step) {
  Json kernels = Json::array();
  for (const StepKernel& kernel : step.kernels) kernels.push_back(kernel_json(step, kernel));
  return kernels;
}

namespace {

Json memory_json(const StepMemory& memory) {
  Json json = memory_json(memory.need);
  json["usable"] = in_bytes(memory.usable);
  json["fits"] = memory.fits();
  json["cache_room_tokens"] = memory.cache_tokens;
  return json;
}

Json setting_json(const StepSetting& s) {
  Json requests = Json::array();
  for (const Requests& r : s.requests)
    requests.push_back(Json{{"count", r.count}, {"new_tokens", r.new_tokens}, {"cached", r.cached}});
  return Json{{"model", s.model}, {"gpu", s.gpu},        {"mode", name_of(s.mode)}, {"engine", name_of(s.engine)},
              {"dtype", s.dtype}, {"requests", requests}};
}

Json row_json(const Row<StepForecast>& row) {
  Json json = setting_json(row.setting);
  if (!row.answer) {
    json["error"] = row.answer.error().line();
    return json;
  }
  const StepForecast& s = *row.answer;
  json.update(Json{{"step_ms", in_milliseconds(s.time)},
                   {"interval_ms", {in_milliseconds(s.interval.low), in_milliseconds(s.interval.high)}},
                   {"ceiling_ms", in_milliseconds(s.ceiling)},
                   {"bound_ms", in_milliseconds(s.bound)},
                   {"gpu_ms", in_milliseconds(s.gpu)},
                   {"host_ms", in_milliseconds(s.host)},
                   {"tokens_per_second", s.tokens_per_second},
                   {"model_flops", s.flops},
                   {"mfu", s.mfu},
                   {"energy_j", s.joules ? Json(*s.joules) : Json()},
                   {"limited_by", s.host_bound   ? Json("host")
                                  : s.limited_by ? Json(name_of(*s.limited_by))
                                                 : Json()},
                   {"host_bound", s.host_bound},
                   {"seen", name_of(s.seen)},
                   {"memory_bytes", memory_json(s.memory)},
                   {"kernels", kernels_json(s)}});
  json["notes"] = s.notes;
  return json;
}

// How long a step takes is not asked of its memory.
Json memory_row_json(const Row<MemoryForecast>& row) {
  Json json = setting_json(row.setting);
  if (!row.answer) {
    json["error"] = row.answer.error().line();
    return json;
  }
  const MemoryForecast& m = *row.answer;
  json.update(Json{{"memory_bytes", memory_json(m.stages.front())},
                   {"largest_batch", m.largest_batch},
                   {"longest_sequence", m.longest_sequence},
                   {"ended_by_model", m.ended_by_model},
                   {"notes", m.notes}});
  return json;
}

Json list_json(const StepRows& rows) {
  Json list = Json::array();
  for (const Row<StepForecast>& row : rows) list.push_back(row_json(row));
  return list;
}

}  // namespace

std::string predict_json(const StepRows& rows) { return json_text(list_json(rows)); }

Result<std::string> memory_document(const std::vector<StepQuery>& queries) {
  const auto rows = memory_rows(queries);
  if (!rows) return rows.error();
  const bool many = queries.front().over_many();
  Json list = Json::array();
  for (const Row<MemoryForecast>& row : *rows) list.push_back(many ? spread_memory_json(row) : memory_row_json(row));
  return json_text(list);
}

}  // namespace tilecast
