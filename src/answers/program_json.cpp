// Recorded programs for programs (docs/json.md).
#include <algorithm>

#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

constexpr std::size_t kSamples = 200;  // of memory over a step

Json shares_json(const std::vector<ProgramShare>& shares) {
  Json list = Json::array();
  for (const ProgramShare& share : shares)
    list.push_back(Json{{"name", share.name},
                        {"time_ms", in_milliseconds(share.time)},
                        {"calls", share.calls},
                        {"launches", share.launches},
                        {"known", share.known}});
  return list;
}

Json memory_over_step(const ProgramMemory& memory) {
  Json samples = Json::array();
  const std::size_t calls = memory.over_calls.size(),
                    step = std::max<std::size_t>(1, (calls + kSamples - 1) / kSamples);
  for (std::size_t i = 0; i < calls; i += step) {
    Bytes most;
    for (std::size_t k = i; k < std::min(calls, i + step); ++k) most = std::max(most, memory.over_calls[k]);
    samples.push_back(Json{i, in_bytes(most)});
  }
  return Json{{"peak", in_bytes(memory.peak)},       {"reserved", in_bytes(memory.reserved)},
              {"resting", in_bytes(memory.resting)}, {"asked", in_bytes(memory.asked)},
              {"card", in_bytes(memory.card)},       {"fits", memory.fits()},
              {"peak_module", memory.peak_module},   {"over_calls", samples}};
}

Json modules_json(const std::vector<ProgramModule>& modules) {
  Json list = Json::array();
  for (const ProgramModule& module : modules)
    list.push_back(Json{{"path", module.path},
                        {"forward_ms", in_milliseconds(module.forward)},
                        {"backward_ms", in_milliseconds(module.backward)},
                        {"recompute_ms", in_milliseconds(module.recompute)},
                        {"optimizer_ms", in_milliseconds(module.optimizer)},
                        {"own_ms", in_milliseconds(module.own)}});
  return list;
}

// Of a program over many cards alone.
void add_collectives(Json& document, const ProgramStep& s) {
  if (s.ranks < 2) return;
  Json list = Json::array();
  for (const ProgramCollectives& c : s.collectives)
    list.push_back(Json{{"op", c.op},
                        {"ranks", c.ranks},
                        {"bytes", in_bytes(c.bytes)},
                        {"calls", c.calls},
                        {"latency_us", in_microseconds(c.each)},
                        {"algorithm", c.algorithm}});
  document["cluster"] = s.cluster, document["ranks"] = s.ranks;
  document["exchanged_ms"] = in_milliseconds(s.exchanged), document["exposed_ms"] = in_milliseconds(s.exposed);
  document["collectives"] = list;
}

Json program_step_json(const ProgramStep& s) {
  Json document{{"program", s.program},
                {"torch", s.torch},
                {"gpu", s.gpu},
                {"engine", name_of(s.engine)},
                {"step_ms", in_milliseconds(s.time)},
                {"interval_ms", {in_milliseconds(s.interval.low), in_milliseconds(s.interval.high)}},
                {"kernels_ms", in_milliseconds(s.kernels)},
                {"gpu_ms", in_milliseconds(s.gpu_time)},
                {"host_ms", in_milliseconds(s.host_time)},
                {"bound_ms", in_milliseconds(s.bound)},
                {"host_bound", s.host_bound},
                {"calls", s.calls},
                {"launches", s.launches},
                {"model_flops", s.flops},
                {"mfu", s.mfu},
                {"seen", name_of(s.seen)},
                {"recognised", s.recognised},
                {"phases", shares_json(s.by_phase)},
                {"classes", shares_json(s.by_class)},
                {"operators", shares_json(s.by_operator)},
                {"unknown", shares_json(s.unknown)},
                {"modules", modules_json(s.modules)},
                {"memory_bytes", memory_over_step(s.memory)}};
  add_collectives(document, s);
  return document;
}

}  // namespace

std::string program_json(std::span<const Result<ProgramStep>> steps, std::span<const ProgramQuery> queries) {
  Json list = Json::array();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i]) {
      list.push_back(program_step_json(*steps[i]));
      continue;
    }
    list.push_back(Json{{"program", queries[i].program},
                        {"gpu", queries[i].gpu},
                        {"engine", queries[i].engine ? name_of(*queries[i].engine) : ""},
                        {"error", steps[i].error().line()}});
  }
  return json_text(list);
}

}  // namespace tilecast
