// A serving plan as text and JSON.
//
//   cheapest: 2 × H100-SXM, vllm fp8, 2 replicas                        $7.98 an hour, $0.43 a million output tokens
#include "cli/views/plan_serve_view.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/terminal/units_text.h"
#include "support/json.h"
#include "support/table.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

std::string formats_text(const PlannedServing& d) {
  return d.dtype + (d.kv_dtype == KvDtype::automatic ? std::string() : fmt::format(", cache {}", name_of(d.kv_dtype)));
}

// "tp 2 × 3"
std::string pool_text(const ServingPool& p) {
  const std::string text = p.layout.empty() ? "1 GPU" : p.layout;
  return p.copies > 1 ? fmt::format("{} × {}", text, p.copies) : text;
}
std::string spread_text(const PlannedServing& d) {
  if (!d.prefill) return pool_text(d.pool);
  return fmt::format("prompts {}; answers {}", pool_text(*d.prefill), pool_text(d.pool));
}

std::string objectives_text(const ServingPlan& p) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Seconds>& slo) {
    if (slo) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, text_of(*slo));
  };
  add("TTFT", p.slo.ttft), add("TPOT", p.slo.tpot), add("E2EL", p.slo.e2el);
  return fmt::format("{} ({})", text, name_of(p.statistic));
}

std::string table_text(const ServingPlan& p) {
  const std::string at(name_of(p.statistic));
  Table table({{"$/h"},
               {"$/M out"},
               {"GPUs", Align::left},
               {"engine", Align::left},
               {"format", Align::left},
               {"layout", Align::left},
               {"seqs / tokens"},
               {"TTFT " + at},
               {"TPOT " + at},
               {"margin"},
               {"cache peak"},
               {"steady TTFT"},
               {"TPOT"}});
  for (const std::size_t i : p.front) {
    const PlannedServing& d = p.finalists[i];
    const ServingMetrics& m = *d.simulated;
    table.add({fmt::format("{:.2f}", d.usd_per_hour), fmt::format("{:.3g}", d.usd_per_million_tokens),
               fmt::format("{} × {}", d.gpus, d.gpu), std::string(name_of(d.engine)), formats_text(d), spread_text(d),
               fmt::format("{} / {}", d.pool.max_sequences, d.pool.step_tokens),
               text_of(statistic_of(m.ttft, p.statistic)), text_of(statistic_of(m.tpot, p.statistic)),
               percent(d.margin), percent(m.cache_peak), text_of(d.steady_ttft), text_of(d.steady_tpot)});
  }
  return table.text();
}

std::string margin_text(const ServingPlan& p, const PlannedServing& d) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Seconds>& slo, const Summary& of) {
    if (!slo) return;
    const Seconds value = statistic_of(of, p.statistic);
    text += fmt::format("{}{} {} of {} ({} to spare)", text.empty() ? "" : ", ", name, text_of(value), text_of(*slo),
                        percent(1 - value / *slo));
  };
  add("TTFT", p.slo.ttft, d.simulated->ttft);
  add("TPOT", p.slo.tpot, d.simulated->tpot);
  add("E2EL", p.slo.e2el, d.simulated->e2el);
  return text;
}

std::string break_text(const ServingPlan& p) {
  const BreakingPoint& b = p.breaks;
  if (b.rate == 0) return fmt::format("holds at {:g} times the rate and more", std::round(std::pow(1.25, 8)));
  std::string text = fmt::format("breaks first: {}, at {:.3g} requests/s ({:+.0f} %)", b.objective, b.rate,
                                 100 * (b.rate / p.rate - 1));
  if (b.cache_full) text += ", the cache full";
  if (b.limit != Limit::none) text += fmt::format("; saturates at {:.3g}: {}", b.saturation, name_of(b.limit));
  return text;
}

std::string none_text(const ServingPlan& p) {
  const std::string text = "none meets the objectives";
  if (!p.nearest)
    return text + (p.too_dear > 0 ? "; the budget or the number of GPUs allows no copy of the model"
                                  : "; the model does not fit any of the GPUs");
  const PlannedServing& d = *p.nearest;
  if (d.limit != Limit::none)
    return text + fmt::format("; what fits the GPUs and the budget gives way to {}", name_of(d.limit));
  return text + fmt::format("; nearest by steady state: {} × {}, {} {}, {}: TTFT {}, TPOT {}, ${:.2f} an hour", d.gpus,
                            d.gpu, name_of(d.engine), formats_text(d), spread_text(d), text_of(d.steady_ttft),
                            text_of(d.steady_tpot), d.usd_per_hour);
}

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
          {"num_blocks", p.blocks}};
}

Json deployment_json(const ServingPlan& p, const PlannedServing& d) {
  Json json = {{"gpu", d.gpu},
               {"gpus", d.gpus},
               {"usd_per_hour", d.usd_per_hour},
               {"usd_per_million_output_tokens", d.usd_per_million_tokens},
               {"engine", name_of(d.engine)},
               {"dtype", d.dtype},
               {"kv_dtype", name_of(d.kv_dtype)},
               {"pool", pool_json(d.pool)}};
  if (d.prefill) json["prefill_pool"] = pool_json(*d.prefill);
  if (d.limit == Limit::none)
    json["steady_state"] = {
        {"ttft_ms", d.steady_ttft.base() * 1e3}, {"tpot_ms", d.steady_tpot.base() * 1e3}, {"cache", d.steady_cache}};
  if (d.simulated) {
    const ServingMetrics& m = *d.simulated;
    const auto ms = [&](const Summary& of) { return statistic_of(of, p.statistic).base() * 1e3; };
    json["simulated"] = {{"ttft_ms", ms(m.ttft)},      {"tpot_ms", ms(m.tpot)},
                         {"e2el_ms", ms(m.e2el)},      {"request_goodput", m.goodput.value_or(0)},
                         {"cache_peak", m.cache_peak}, {"meets", d.meets},
                         {"margin", d.margin}};
  }
  return json;
}

}  // namespace

Error no_deployment(const ServingPlan& p) {
  return field_error(
      "slo",
      fmt::format("{} deployments tried ({} set-ups do not fit, {} miss with any number of GPUs allowed): {}", p.tried,
                  p.too_large, p.too_slow, none_text(p)),
      "relax the objectives, or allow more GPUs or a larger --budget");
}

std::string plan_serve_text(const PlanServeQuery& q, const ServingPlan& p) {
  std::string text = fmt::format("{}, {:g} requests/s, input {}, output {}: {}\n", p.model, p.rate, q.load.input,
                                 q.load.output, objectives_text(p));
  text += fmt::format(
      "{} deployments tried; {} set-ups do not fit, {} miss with any number of GPUs allowed; {} simulated\n\n", p.tried,
      p.too_large, p.too_slow, p.finalists.size());
  if (!p.best) return text + none_text(p) + "\n";
  text += "cost against latency (simulated; steady state beside it):\n" + table_text(p) + "\n";
  const PlannedServing& d = p.finalists[*p.best];
  text +=
      fmt::format("cheapest: {} × {}, {}, {}, {}: ${:.2f} an hour, ${:.3g} a million output tokens\n", d.gpus, d.gpu,
                  name_of(d.engine), formats_text(d), spread_text(d), d.usd_per_hour, d.usd_per_million_tokens);
  text += "margin: " + margin_text(p, d) + "\n" + break_text(p) + "\n";
  for (const std::string& note : p.prices)
    if (note.starts_with(d.gpu + " ")) text += "price: " + note + "\n";
  text += fmt::format("\nstart it with ({}):\n", d.release);
  for (const std::string& line : d.launch) text += "  " + line + "\n";
  return text;
}

std::string plan_serve_json(const PlanServeQuery& q, const ServingPlan& p) {
  Json json = {{"model", p.model},
               {"rate", p.rate},
               {"input", q.load.input},
               {"output", q.load.output},
               {"statistic", name_of(p.statistic)},
               {"tried", p.tried},
               {"too_large", p.too_large},
               {"too_slow", p.too_slow},
               {"too_dear", p.too_dear},
               {"prices", p.prices},
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
  } else if (p.nearest) {
    json["nearest"] = deployment_json(p, *p.nearest);
  }
  return json_text(json);
}

}  // namespace tilecast
