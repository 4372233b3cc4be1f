// A simulated deployment for programs (docs/json.md).
#include <fmt/format.h>

#include "answers/documents.h"
#include "support/json.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json class_json(const ClassMetrics& c) {
  Json json = {{"name", c.name},           {"completed", c.completed}, {"refused", c.refused},
               {"cancelled", c.cancelled}, {"unsent", c.unsent},       {"request_goodput", nullptr}};
  if (c.goodput) json["request_goodput"] = *c.goodput;
  for (const auto& [name, s] : {std::pair("ttft", c.ttft), {"tpot", c.tpot}, {"e2el", c.e2el}})
    for (const auto& [statistic, value] :
         {std::pair("mean", s.mean), {"median", s.median}, {"p90", s.p90}, {"p99", s.p99}})
      json[fmt::format("{}_{}_ms", statistic, name)] = value * 1e3;
  return json;
}

// Under the names that `vllm bench serve --save-result` gives them (vllm/benchmarks/serve.py), where it has the figure.
Json metrics_json(const ServingMetrics& m) {
  Json json = {{"duration", m.duration},
               {"completed", m.completed},
               {"refused", m.refused},
               {"cancelled", m.cancelled},
               {"unsent", m.unsent},
               {"total_input_tokens", m.input_tokens},
               {"total_output_tokens", m.output_tokens},
               {"request_throughput", m.request_throughput},
               {"request_goodput", nullptr},
               {"output_throughput", m.output_throughput},
               {"total_token_throughput", m.total_throughput}};
  const auto add = [&](const char* name, const Summary& s) {
    for (const auto& [statistic, value] :
         {std::pair("mean", s.mean), {"median", s.median}, {"p90", s.p90}, {"p99", s.p99}})
      json[fmt::format("{}_{}_ms", statistic, name)] = value * 1e3;
  };
  add("ttft", m.ttft);
  add("tpot", m.tpot);
  add("itl", m.itl);
  add("e2el", m.e2el);
  add("queue", m.queue);
  json.update({{"preemptions", m.preemptions},
               {"prefix_hit_rate", m.hit_rate},
               {"cache_mean", m.cache_mean},
               {"cache_peak", m.cache_peak},
               {"gpu_busy", m.gpu_busy},
               {"steps", m.steps},
               {"mean_batch", m.mean_batch},
               {"peak_tokens_in_flight", m.peak_tokens}});
  if (m.goodput) json["request_goodput"] = *m.goodput;
  json["slo_violations"] = m.missed ? Json(*m.missed) : Json(nullptr);
  json["gpu_hours"] = m.gpu_hours;
  json["energy"] = nullptr;
  if (m.energy) {
    json["energy"] = {{"total_j", m.energy->joules}, {"mean_w", m.energy->watts}, {"output_token_j", nullptr}};
    if (m.energy->per_token) json["energy"]["output_token_j"] = *m.energy->per_token;
  }
  for (const ClassMetrics& c : m.classes) json["classes"].push_back(class_json(c));
  return json;
}

// What an autoscaler did: replicas over time, each of their lives, and the same load on a fixed number.
Json fleet_json(const SimulatedLoad& load) {
  const FleetRecord& fleet = *load.outcome.fleet;
  Json json = {
      {"replica_hours", fleet.replica_seconds.base() / 3600}, {"changes", Json::array()}, {"lives", Json::array()}};
  for (const FleetChange& c : fleet.changes)
    json["changes"].push_back({{"time_s", (c.time - load.outcome.begin).base()},
                               {"on", c.on},
                               {"starting", c.starting},
                               {"draining", c.draining},
                               {"wanted", c.wanted}});
  for (const ReplicaLife& l : fleet.lives)
    json["lives"].push_back({{"replica", l.replica},
                             {"from_s", (l.from - load.outcome.begin).base()},
                             {"ready_s", (l.ready - load.outcome.begin).base()},
                             {"to_s", (l.to - load.outcome.begin).base()}});
  if (load.fixed) json["fixed"] = {{"replicas", load.fixed_replicas}, {"metrics", metrics_json(*load.fixed)}};
  return json;
}

Json offload_json(const ServingOutcome& outcome) {
  return {{"host_loaded_tokens", outcome.loaded[0]},
          {"host_stored_tokens", outcome.stored[0]},
          {"disk_loaded_tokens", outcome.loaded[1]},
          {"disk_stored_tokens", outcome.stored[1]}};
}

Json slices_json(const std::vector<Slice>& slices, bool fleet) {
  Json list = Json::array();
  for (const Slice& s : slices) {
    list.push_back(
        {{"time_s", s.time}, {"cache", s.cache}, {"busy", s.busy}, {"running", s.running}, {"waiting", s.waiting}});
    list.back()["power_w"] = s.watts ? Json(*s.watts) : Json(nullptr);
    if (fleet) list.back()["replicas"] = s.replicas;
  }
  return list;
}

// Some of a run's steps one by one: those that had not ended by the second given, as many as asked for.
Json steps_json(const SimulationResult& run, const SimulatedLoad& load) {
  const ServingOutcome& outcome = load.outcome;
  Json steps = Json::array();
  for (const StepRecord& s : outcome.steps) {
    if (static_cast<Count>(steps.size()) >= run.list_steps) break;
    if ((s.end - outcome.begin).base() <= run.list_from) continue;
    steps.push_back({{"start_s", (s.start - outcome.begin).base()},
                     {"step_ms", in_milliseconds(s.end - s.start)},
                     {"replica", s.replica},
                     {"steps", s.steps},
                     {"prompt_tokens", s.prompt_tokens},
                     {"decodes", s.decodes},
                     {"running", s.running},
                     {"waiting", s.waiting},
                     {"cache", s.cache}});
    if (const auto& reach = s.prompt_tokens > 0 ? load.prompts : load.answers)
      steps.back()["interval_ms"] = {in_milliseconds((s.end - s.start) * reach->low),
                                     in_milliseconds((s.end - s.start) * reach->high)};
  }
  return steps;
}

}  // namespace

std::string simulate_json(const SimulationResult& run) {
  Json json = {{"model", run.model},
               {"gpu", run.gpu},
               {"engine", name_of(run.engine)},
               {"policy", run.policy},
               {"dtype", run.dtype},
               {"tp", run.tp},
               {"pp", run.pp},
               {"ep", run.ep},
               {"attention_dp", run.attention_dp},
               {"replicas", run.replicas},
               {"prefill_replicas", run.prefill_replicas},
               {"max_num_seqs", run.max_sequences},
               {"max_num_batched_tokens", run.max_tokens},
               {"block_size", run.block_tokens},
               {"num_blocks", run.blocks},
               {"memory_bytes",
                {{"visible", run.memory.visible.base()},
                 {"usable", run.memory.usable.base()},
                 {"weights", run.memory.weights.base()},
                 {"activations", run.memory.activations.base()},
                 {"other", run.memory.other.base()},
                 {"cache", run.memory.cache.base()}}},
               {"notes", run.notes},
               {"loads", Json::array()}};
  for (const SimulatedLoad& load : run.loads) {
    Json one = {{"load", load.name}, {"requests_that_fit", load.most_at_once}, {"metrics", metrics_json(load.metrics)}};
    if (load.fast) one["fast"] = metrics_json(*load.fast);
    if (load.slow) one["slow"] = metrics_json(*load.slow);
    if (!load.outcome.steps.empty()) {
      const bool fleet = load.outcome.fleet.has_value();
      one["over_time"] = slices_json(over_time(load.outcome, kLoadSlices), fleet);
      if (!load.fast_over_time.empty()) one["over_time_fast"] = slices_json(load.fast_over_time, fleet);
      if (!load.slow_over_time.empty()) one["over_time_slow"] = slices_json(load.slow_over_time, fleet);
      if (run.list_steps > 0) one["steps"] = steps_json(run, load);
      one["refused"] = load.outcome.refused;
      if (load.outcome.fleet) one["autoscale"] = fleet_json(load);
      if (load.outcome.stored[0] + load.outcome.stored[1] > 0) one["offload"] = offload_json(load.outcome);
    }
    json["loads"].push_back(one);
  }
  return json_text(json);
}

}  // namespace tilecast
