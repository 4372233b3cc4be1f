// A serving plan as text and JSON.
//
//   cheapest: 2 × H100-SXM, vllm fp8, 2 replicas                        $7.98 an hour, $0.43 a million output tokens
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/plan_serve_command.h"
#include "cli/terminal/units_text.h"
#include "serve/launch_command.h"
#include "support/json.h"
#include "support/table.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

std::string formats_text(const Formats& f) { return f.dtype + (f.kv_dtype.empty() ? "" : ", cache " + f.kv_dtype); }

// "tp 2 × 3"
std::string pool_text(const PlannedPool& p) {
  const RankLayout& l = p.setup->layout;
  std::string text = l.ranks() == 1 ? "1 GPU" : text_of(l);
  return p.copies > 1 ? fmt::format("{} × {}", text, p.copies) : text;
}
std::string spread_text(const PlannedDeployment& d) {
  if (!d.prefill) return pool_text(d.pool);
  return fmt::format("prompts {}; answers {}", pool_text(*d.prefill), pool_text(d.pool));
}
std::string limits_text(const ServeSetup& s) {
  const SchedulerLimits& l = s.pool.limits;
  const bool chunk = l.policy == Policy::sglang && l.chunk > 0;
  return fmt::format("{} / {}", l.max_sequences, chunk ? l.chunk : l.max_tokens);
}

std::string objectives_text(const PlanServeResult& r) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Seconds>& slo) {
    if (slo) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, text_of(*slo));
  };
  add("TTFT", r.query.slo.ttft), add("TPOT", r.query.slo.tpot), add("E2EL", r.query.slo.e2el);
  return fmt::format("{} ({})", text, name_of(r.query.statistic));
}

std::string table_text(const PlanServeResult& r, const std::vector<std::size_t>& rows) {
  const std::string at(name_of(r.query.statistic));
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
  for (const std::size_t i : rows) {
    const PlannedDeployment& d = r.plan.finalists[i];
    const ServeSetup& s = *d.pool.setup;
    const ServingMetrics& m = *d.simulated;
    const double left = margin(r.query.slo, m, r.query.statistic);
    table.add({fmt::format("{:.2f}", d.usd_per_hour), fmt::format("{:.3g}", usd_per_million(r.query, d.usd_per_hour)),
               fmt::format("{} × {}", d.gpus(), r.query.gpus[s.offer].gpu.name), std::string(name_of(s.engine)),
               formats_text(s.formats), spread_text(d), limits_text(s),
               text_of(statistic_of(m.ttft, r.query.statistic)), text_of(statistic_of(m.tpot, r.query.statistic)),
               percent(left), percent(m.cache_peak), text_of(d.steady.ttft_at(r.query.statistic)),
               text_of(d.steady.tpot_at(r.query.statistic))});
  }
  return table.text();
}

std::string margin_text(const PlanServeResult& r, const PlannedDeployment& d) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Seconds>& slo, const Summary& of) {
    if (!slo) return;
    const Seconds value = statistic_of(of, r.query.statistic);
    text += fmt::format("{}{} {} of {} ({} to spare)", text.empty() ? "" : ", ", name, text_of(value), text_of(*slo),
                        percent(1 - value / *slo));
  };
  add("TTFT", r.query.slo.ttft, d.simulated->ttft);
  add("TPOT", r.query.slo.tpot, d.simulated->tpot);
  add("E2EL", r.query.slo.e2el, d.simulated->e2el);
  return text;
}

std::string break_text(const PlanServeResult& r) {
  const BreakingPoint& b = r.plan.breaks;
  if (b.rate == 0) return fmt::format("holds at {:g} times the rate and more", std::round(std::pow(1.25, 8)));
  std::string text = fmt::format("breaks first: {}, at {:.3g} requests/s ({:+.0f} %)", b.objective, b.rate,
                                 100 * (b.rate / r.query.workload.rate - 1));
  if (b.cache_full) text += ", the cache full";
  if (b.limit != Limit::none) text += fmt::format("; saturates at {:.3g}: {}", b.saturation, name_of(b.limit));
  return text;
}

std::string none_text(const PlanServeResult& r) {
  std::string text = "none meets the objectives";
  if (r.plan.nearest && !r.plan.nearest->steady.saturated()) {
    const PlannedDeployment& d = *r.plan.nearest;
    text +=
        fmt::format("; nearest by steady state: {} × {}, {} {}, {}: TTFT {}, TPOT {}, ${:.2f} an hour", d.gpus(),
                    r.query.gpus[d.pool.setup->offer].gpu.name, name_of(d.pool.setup->engine),
                    formats_text(d.pool.setup->formats), spread_text(d), text_of(d.steady.ttft_at(r.query.statistic)),
                    text_of(d.steady.tpot_at(r.query.statistic)), d.usd_per_hour);
  } else if (r.plan.nearest) {
    text += fmt::format("; what fits the GPUs and the budget gives way to {}", name_of(r.plan.nearest->steady.limit));
  } else {
    text += r.plan.too_dear > 0 ? "; the budget or the number of GPUs allows no copy of the model"
                                : "; the model does not fit any of the GPUs";
  }
  return text;
}

Json pool_json(const PlannedPool& p) {
  const ServeSetup& s = *p.setup;
  const RankLayout& l = s.layout;
  return {{"tp", l.tp},
          {"pp", l.pp},
          {"ep", l.ep},
          {"attention_dp", l.dp},
          {"copies", p.copies},
          {"gpus", p.gpus()},
          {"max_num_seqs", s.pool.limits.max_sequences},
          {"max_num_batched_tokens", s.pool.limits.max_tokens},
          {"chunked_prefill_size", s.pool.limits.chunk},
          {"chunked_prefill", s.pool.limits.chunked_prefill},
          {"memory_fraction", memory_fraction(s.engine, s.budget)},
          {"block_size", s.pool.geometry.block_tokens},
          {"num_blocks", s.pool.blocks}};
}

Json deployment_json(const PlanServeResult& r, const PlannedDeployment& d) {
  const ServeSetup& s = *d.pool.setup;
  Json json = {{"gpu", r.query.gpus[s.offer].gpu.name},
               {"gpus", d.gpus()},
               {"usd_per_hour", d.usd_per_hour},
               {"usd_per_million_output_tokens", usd_per_million(r.query, d.usd_per_hour)},
               {"engine", name_of(s.engine)},
               {"dtype", s.formats.dtype},
               {"kv_dtype", s.formats.kv_dtype.empty() ? "auto" : s.formats.kv_dtype},
               {"pool", pool_json(d.pool)}};
  if (d.prefill) json["prefill_pool"] = pool_json(*d.prefill);
  if (!d.steady.saturated())
    json["steady_state"] = {{"ttft_ms", d.steady.ttft_at(r.query.statistic).base() * 1e3},
                            {"tpot_ms", d.steady.tpot_at(r.query.statistic).base() * 1e3},
                            {"cache", d.steady.cache}};
  if (d.simulated) {
    const ServingMetrics& m = *d.simulated;
    const auto ms = [&](const Summary& of) { return statistic_of(of, r.query.statistic).base() * 1e3; };
    json["simulated"] = {{"ttft_ms", ms(m.ttft)},
                         {"tpot_ms", ms(m.tpot)},
                         {"e2el_ms", ms(m.e2el)},
                         {"request_goodput", m.goodput.value_or(0)},
                         {"cache_peak", m.cache_peak},
                         {"meets", d.meets},
                         {"margin", margin(r.query.slo, m, r.query.statistic)}};
  }
  return json;
}

}  // namespace

Error no_deployment(const PlanServeResult& r) {
  return Error{"--slo", "",
               fmt::format("{} deployments tried ({} set-ups do not fit, {} miss with any number of GPUs allowed): {}",
                           r.plan.tried, r.plan.too_large, r.plan.too_slow, none_text(r)),
               "relax the objectives, or allow more GPUs or a larger --budget"};
}

std::string plan_serve_text(const PlanServeResult& r) {
  const ServePlan& p = r.plan;
  std::string text = fmt::format("{}, {:g} requests/s, input {}, output {}: {}\n", r.query.model.name,
                                 r.query.workload.rate, r.options.input, r.options.output, objectives_text(r));
  text += fmt::format(
      "{} deployments tried; {} set-ups do not fit, {} miss with any number of GPUs allowed; {} simulated\n\n", p.tried,
      p.too_large, p.too_slow, p.finalists.size());
  if (!p.best) return text + none_text(r) + "\n";
  text += "cost against latency (simulated; steady state beside it):\n" + table_text(r, p.front) + "\n";
  const PlannedDeployment& d = p.finalists[*p.best];
  text += fmt::format("cheapest: {} × {}, {}, {}, {}: ${:.2f} an hour, ${:.3g} a million output tokens\n", d.gpus(),
                      r.query.gpus[d.pool.setup->offer].gpu.name, name_of(d.pool.setup->engine),
                      formats_text(d.pool.setup->formats), spread_text(d), d.usd_per_hour,
                      usd_per_million(r.query, d.usd_per_hour));
  text += "margin: " + margin_text(r, d) + "\n" + break_text(r) + "\n";
  for (const std::string& note : r.notes)
    if (note.starts_with(r.query.gpus[d.pool.setup->offer].gpu.name + " ")) text += "price: " + note + "\n";
  text += fmt::format("\nstart it with ({}):\n", release_of(d.pool.setup->engine));
  for (const std::string& line : r.launch) text += "  " + line + "\n";
  return text;
}

std::string plan_serve_json(const PlanServeResult& r) {
  const ServePlan& p = r.plan;
  Json json = {{"model", r.query.model.name},
               {"rate", r.query.workload.rate},
               {"input", r.options.input},
               {"output", r.options.output},
               {"statistic", name_of(r.query.statistic)},
               {"tried", p.tried},
               {"too_large", p.too_large},
               {"too_slow", p.too_slow},
               {"too_dear", p.too_dear},
               {"prices", r.notes},
               {"front", Json::array()},
               {"finalists", Json::array()}};
  for (const std::size_t i : p.front) json["front"].push_back(deployment_json(r, p.finalists[i]));
  for (const PlannedDeployment& d : p.finalists) json["finalists"].push_back(deployment_json(r, d));
  if (p.best) {
    json["best"] = deployment_json(r, p.finalists[*p.best]);
    json["breaks"] = {{"rate", p.breaks.rate},
                      {"objective", p.breaks.objective},
                      {"cache_full", p.breaks.cache_full},
                      {"saturation", p.breaks.saturation},
                      {"limit", name_of(p.breaks.limit)}};
    json["release"] = release_of(p.finalists[*p.best].pool.setup->engine);
    json["launch"] = r.launch;
  } else if (p.nearest) {
    json["nearest"] = deployment_json(r, *p.nearest);
  }
  return json_text(json);
}

}  // namespace tilecast
