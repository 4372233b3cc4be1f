// A serving plan as JSON.
#include <fmt/format.h>

#include "answers/documents.h"
#include "support/counted.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json pool_json(const ServingPool& p) {
  return {{"tp", p.tp},
          {"pp", p.pp},
          {"ep", p.ep},
          {"attention_dp", p.attention_dp},
          {"copies", p.copies},
          {"gpus", p.gpus},
          {"max_num_seqs", p.max_sequences},
          {"max_num_batched_tokens", p.max_tokens},
          {"chunked_prefill_size", p.chunk},
          {"chunked_prefill", p.chunked_prefill},
          {"memory_fraction", p.memory_fraction},
          {"block_size", p.block_tokens},
          {"num_blocks", p.blocks},
          {"memory_gib",
           {{"visible", in_gibibytes(p.memory.visible)},
            {"usable", in_gibibytes(p.memory.usable)},
            {"weights", in_gibibytes(p.memory.weights)},
            {"activations", in_gibibytes(p.memory.activations)},
            {"other", in_gibibytes(p.memory.other)},
            {"cache", in_gibibytes(p.memory.cache)}}}};
}

// The figure and the ends of its interval.
Json plan_times_json(const ServingPlan& p, const PlannedServing& d) {
  Json json = Json::object();
  const auto add = [&](const char* name, Summary ServingMetrics::*of) {
    const auto ms = [&](const ServingMetrics& m) { return in_milliseconds(statistic_of(m.*of, p.statistic)); };
    json[fmt::format("{}_ms", name)] = ms(*d.simulated);
    if (d.fast && d.slow) json[fmt::format("{}_interval_ms", name)] = Json{ms(*d.fast), ms(*d.slow)};
  };
  add("ttft", &ServingMetrics::ttft), add("tpot", &ServingMetrics::tpot), add("e2el", &ServingMetrics::e2el);
  return json;
}

Json simulated_json(const ServingPlan& p, const PlannedServing& d) {
  const ServingMetrics& m = *d.simulated;
  Json json = plan_times_json(p, d);
  json.update({{"rate", d.rate},
               {"in_flight", d.in_flight > 0 ? Json(d.in_flight) : Json()},
               {"output_tokens_per_second_per_gpu", d.tokens_per_gpu},
               {"output_tokens_per_second_per_user", d.tokens_per_user},
               {"concurrency", d.concurrency},
               {"request_goodput", m.goodput.value_or(0)},
               {"joules_per_output_token", or_null(m.energy ? m.energy->per_token : std::nullopt)},
               {"cache_peak", m.cache_peak},
               {"meets", d.meets},
               {"margin", d.margin},
               {"chance", or_null(d.chance)}});
  if (!d.in_the_way.empty()) json["in_the_way"] = d.in_the_way;
  if (m.cancelled > 0) json["cancelled"] = m.cancelled;
  for (const ClassMetrics& c : m.classes) {
    const auto ms = [&](const Summary& of) { return in_milliseconds(statistic_of(of, p.statistic)); };
    json["classes"].push_back({{"name", c.name},
                               {"completed", c.completed},
                               {"ttft_ms", ms(c.ttft)},
                               {"tpot_ms", ms(c.tpot)},
                               {"e2el_ms", ms(c.e2el)}});
  }
  return json;
}

Json deployment_json(const ServingPlan& p, const PlannedServing& d) {
  Json json = {{"gpu", d.gpu},
               {"gpus", d.gpus},
               {"usd_per_hour", or_null(d.usd_per_hour)},
               {"usd_per_million_output_tokens", or_null(d.usd_per_million_tokens)},
               {"engine", name_of(d.engine)},
               {"dtype", d.dtype},
               {"kv_dtype", name_of(d.kv_dtype)},
               {"pool", pool_json(d.pool)}};
  if (d.prefill) json["prefill_pool"] = pool_json(*d.prefill);
  if (d.limit == Limit::none)
    json["steady_state"] = {
        {"ttft_ms", d.steady_ttft.base() * 1e3}, {"tpot_ms", d.steady_tpot.base() * 1e3}, {"cache", d.steady_cache}};
  if (d.simulated) json["simulated"] = simulated_json(p, d);
  else if (!d.in_the_way.empty()) json["in_the_way"] = d.in_the_way;
  json["to_fill_in"] = d.to_fill_in;
  json["seen"] = name_of(d.seen);
  json["release"] = d.release;
  return json;
}

Json pareto_json(const PlanPictures& pictures) {
  Json points = Json::array();
  for (const ParetoPoint& p : pictures.pareto)
    if (p.front || p.layout_front)
      points.push_back({{"gpu", p.gpu},
                        {"layout", p.layout},
                        {"what", p.what},
                        {"output_tokens_per_second_per_user", p.tokens_per_user},
                        {"interval_per_user", {p.low_per_user, p.high_per_user}},
                        {"output_tokens_per_second_per_gpu", p.tokens_per_gpu},
                        {"concurrency", p.concurrency},
                        {"front", p.front}});
  return points;
}

// What drawings show: the Pareto front, latency against load, the run over time.
Json pictures_json(const PlanPictures& pictures) {
  Json loads = Json::array(), slices = Json::array();
  const auto ends = [](const Interval& i) { return Json{in_milliseconds(i.low), in_milliseconds(i.high)}; };
  for (const LoadPoint& p : pictures.loads)
    loads.push_back({{"rate", p.rate},
                     {"ttft_ms", in_milliseconds(p.ttft)},
                     {"ttft_interval_ms", ends(p.ttft_interval)},
                     {"tpot_ms", in_milliseconds(p.tpot)},
                     {"tpot_interval_ms", ends(p.tpot_interval)},
                     {"e2el_ms", in_milliseconds(p.e2el)},
                     {"e2el_interval_ms", ends(p.e2el_interval)}});
  for (const Slice& s : pictures.slices)
    slices.push_back({{"time_s", s.time},
                      {"cache", s.cache},
                      {"busy", s.busy},
                      {"running", s.running},
                      {"waiting", s.waiting},
                      {"power_w", or_null(s.watts)}});
  return {{"pareto", pareto_json(pictures)}, {"loads", loads}, {"over_time", slices}};
}

}  // namespace

std::string planned_json(const PlanServeQuery& q, const ServingPlan& p, const PlannedServing& d) {
  Json json = {{"model", p.model},      {"objective", name_of(p.objective)},
               {"input", q.load.input}, {"output", q.load.output},
               {"slo", q.slo},          {"statistic", name_of(p.statistic)}};
  json.update(deployment_json(p, d));
  json["launch"] = d.launch;
  return json_text(json);
}

std::string plan_serve_json(const PlanServeQuery& q, const ServingPlan& p) {
  Json json = {{"model", p.model},
               {"objective", name_of(p.objective)},
               {"rate", p.rate > 0 ? Json(p.rate) : Json()},
               {"input", q.load.input},
               {"output", q.load.output},
               {"statistic", name_of(p.statistic)},
               {"tried", p.tried},
               {"too_large", p.too_large},
               {"too_slow", p.too_slow},
               {"too_dear", p.too_dear},
               {"unsuited", p.unsuited},
               {"prices", p.prices},
               {"notes", p.notes},
               {"front", Json::array()},
               {"finalists", Json::array()}};
  for (const std::size_t i : p.front) json["front"].push_back(deployment_json(p, p.finalists[i]));
  for (const PlannedServing& d : p.finalists) json["finalists"].push_back(deployment_json(p, d));
  if (p.best) {
    const PlannedServing& best = p.finalists[*p.best];
    json["best"] = deployment_json(p, best);
    json["breaks"] = {{"rate", p.breaks.rate},
                      {"objective", p.breaks.objective},
                      {"cache_full", p.breaks.cache_full},
                      {"saturation", p.breaks.saturation},
                      {"limit", name_of(p.breaks.limit)}};
    json["release"] = best.release;
    json["launch"] = best.launch;
  }
  if (!p.best)
    json["problem"] = fmt::format("{} tried ({}, {} with any number of GPUs allowed)", counted(p.tried, "deployment"),
                                  counted(p.too_large, "setup does not fit", "setups do not fit"),
                                  counted(p.too_slow, "misses", "miss"));
  if (p.nearest) json["nearest"] = deployment_json(p, *p.nearest);
  if (p.attainable) json["attainable"] = deployment_json(p, *p.attainable);
  if (p.pictures) json["pictures"] = pictures_json(*p.pictures);
  return json_text(json);
}

}  // namespace tilecast
