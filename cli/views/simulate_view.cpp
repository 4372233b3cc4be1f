// A simulated deployment as text, JSON, a table of requests and a timeline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/simulate_command.h"
#include "cli/terminal/units_text.h"
#include "support/chrome_trace.h"
#include "support/json.h"
#include "support/table.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

std::string workload_text(const SimulateOptions& o, const ServingMetrics& m) {
  if (!o.trace.empty()) return fmt::format("{} requests of {}", m.completed + m.refused, o.trace);
  std::string text = fmt::format("{} requests, input {}, output {}", o.requests, o.input, o.output);
  if (o.prefixes > 0) text += fmt::format(", {} prefixes of {} tokens", o.prefixes, o.prefix_tokens);
  return text;
}

std::string deployment_text(const SimulatedRun& run) {
  const SchedulerLimits& l = run.pool.limits;
  const RankLayout ranks = run.deployment.spread ? run.deployment.spread->layout : RankLayout{};
  const Count gpus = run.pool.replicas * ranks.tp * ranks.pp;
  std::string text = fmt::format("{} on {}{}{}, {} {}", run.deployment.model.name,
                                 gpus > 1 ? fmt::format("{} × ", gpus) : std::string(), run.deployment.gpu.name,
                                 run.deployment.spread ? " (" + text_of(ranks) + ")" : std::string(),
                                 name_of(run.deployment.engine.kind), run.deployment.engine.precision.linear.name);
  if (run.options.prefill_replicas > 0)
    text += fmt::format(", prompts on {} more{}, link {:g} GB/s", run.options.prefill_replicas,
                        run.options.prefill_tp > 0 ? fmt::format(" of tp {}", run.options.prefill_tp) : "",
                        run.options.link_gb_per_s);
  text += fmt::format("\nup to {} sequences, {} tokens a step; cache of {} blocks of {}: {} tokens ({})\n",
                      l.max_sequences, l.policy == Policy::sglang && l.chunk > 0 ? l.chunk : l.max_tokens,
                      run.pool.blocks, run.pool.geometry.block_tokens, run.pool.blocks * run.pool.geometry.block_tokens,
                      text_of(run.budget.cache));
  const SimulatedLoad& load = run.loads.front();
  if (load.metrics.completed > 0)
    text += fmt::format("room for {} requests of the mean length at once on a replica\n", load.most_at_once);
  return text;
}

std::string latency_table(const SimulatedLoad& load) {
  Table table({{"", Align::left}, {"mean"}, {"median"}, {"p90"}, {"p99"}, {"80 % interval of the mean"}});
  const auto row = [&](const char* name, Summary ServingMetrics::*figure) {
    const Summary& s = load.metrics.*figure;
    std::string interval = "–";
    if (load.fast && load.slow)
      interval = text_of(seconds(((*load.fast).*figure).mean)) + " – " + text_of(seconds(((*load.slow).*figure).mean));
    table.add({name, text_of(seconds(s.mean)), text_of(seconds(s.median)), text_of(seconds(s.p90)),
               text_of(seconds(s.p99)), interval});
  };
  row("TTFT", &ServingMetrics::ttft);
  row("TPOT", &ServingMetrics::tpot);
  row("ITL", &ServingMetrics::itl);
  row("E2EL", &ServingMetrics::e2el);
  row("queue", &ServingMetrics::queue);
  return table.text();
}

std::string energy_of(double joules) {
  if (joules < 1e4) return fmt::format("{:.4g} J", joules);
  return joules < 3.6e6 ? fmt::format("{:.4g} kJ", joules / 1e3) : fmt::format("{:.4g} kWh", joules / 3.6e6);
}

std::string energy_text(const ServingMetrics& m) {
  if (!m.energy) return "";
  std::string text =
      fmt::format("energy {}, {:.4g} W of all GPUs on average", energy_of(m.energy->joules), m.energy->watts);
  if (m.energy->per_token) text += fmt::format(", {:.3g} J an output token", *m.energy->per_token);
  return text + " (a model: docs/serving.md)\n";
}

std::string load_text(const SimulatedLoad& load) {
  const ServingMetrics& m = load.metrics;
  std::string text = fmt::format("completed {} in {}, {} steps of {:.1f} requests\n", m.completed,
                                 text_of(seconds(m.duration)), m.steps, m.mean_batch);
  text += fmt::format("throughput {:.4g} requests/s, {:.5g} output tokens/s, {:.5g} tokens/s", m.request_throughput,
                      m.output_throughput, m.total_throughput);
  if (load.fast && load.slow)
    text += fmt::format("  (output 80 % interval {:.5g} – {:.5g})", load.slow->output_throughput,
                        load.fast->output_throughput);
  if (m.goodput) text += fmt::format("\ngoodput {:.4g} requests/s within the objectives", *m.goodput);
  text += fmt::format("\ncache {} in use on average, {} at most; GPU busy {}", percent(m.cache_mean),
                      percent(m.cache_peak), percent(m.gpu_busy));
  if (m.hit_rate > 0) text += fmt::format("; {} of prompt tokens found in the cache", percent(m.hit_rate));
  if (m.preemptions > 0) text += fmt::format("; {} preemptions", m.preemptions);
  text += "\n" + energy_text(m);
  if (load.outcome.refusals > 0) {
    text += fmt::format("refused {}:\n", load.outcome.refusals);
    for (const std::string& why : load.outcome.refused) text += "  " + why + "\n";
  }
  return m.completed > 0 ? text + "\n" + latency_table(load) : text;
}

// One curve over loads, each column a load; the height is logarithmic, as latencies explode.
std::string curve(const std::string& title, const std::vector<SimulatedLoad>& loads,
                  double (*value)(const SimulatedLoad&)) {
  constexpr int kHeight = 8, kColumn = 8;
  double low = 1e300, high = 0;
  for (const SimulatedLoad& load : loads)
    if (value(load) > 0) low = std::min(low, value(load)), high = std::max(high, value(load));
  if (!(high > 0)) return "";
  const double span = std::max(std::log(high / low), 0.05);
  std::string text = title + "\n";
  for (int row = kHeight; row >= 0; --row) {
    std::string line;
    for (const SimulatedLoad& load : loads) {
      const double v = value(load);
      const int at = v > 0 ? static_cast<int>(std::lround(std::log(v / low) / span * kHeight)) : -1;
      line += fmt::format("{:>{}}", at == row ? "o" : "", kColumn);
    }
    const bool end = row == kHeight || row == 0;
    text += fmt::format("{:>10} |{}\n", end ? text_of(seconds(row == 0 ? low : high)) : "", line);
  }
  text += fmt::format("{:>10} +{}\n{:>12}", "", std::string(loads.size() * kColumn, '-'), "");
  for (const SimulatedLoad& load : loads) text += fmt::format("{:>{}}", fmt::format("{:g}", load.value), kColumn);
  return text + "\n";
}

std::string sweep_text(const SimulatedRun& run) {
  const bool of_rate = run.options.sweep.starts_with("rate");
  Table table({{of_rate ? "rate" : "concurrency"},
               {"requests/s"},
               {"output tok/s"},
               {"TTFT mean"},
               {"TTFT p99"},
               {"TPOT mean"},
               {"TPOT p99"},
               {"E2EL mean"},
               {"cache"},
               {"GPU busy"},
               {"J/token"},
               {"goodput"}});
  for (const SimulatedLoad& load : run.loads) {
    const ServingMetrics& m = load.metrics;
    table.add({fmt::format("{:g}", load.value), fmt::format("{:.4g}", m.request_throughput),
               fmt::format("{:.5g}", m.output_throughput), text_of(seconds(m.ttft.mean)), text_of(seconds(m.ttft.p99)),
               text_of(seconds(m.tpot.mean)), text_of(seconds(m.tpot.p99)), text_of(seconds(m.e2el.mean)),
               percent(m.cache_mean), percent(m.gpu_busy),
               m.energy && m.energy->per_token ? fmt::format("{:.3g}", *m.energy->per_token) : "–",
               m.goodput ? fmt::format("{:.4g}", *m.goodput) : "–"});
  }
  const std::string x = of_rate ? "rate, requests a second" : "concurrency";
  return table.text() + "\n" +
         curve("mean TTFT against " + x, run.loads, [](const SimulatedLoad& l) { return l.metrics.ttft.mean; }) + "\n" +
         curve("mean TPOT against " + x, run.loads, [](const SimulatedLoad& l) { return l.metrics.tpot.mean; });
}

// Under the names that `vllm bench serve --save-result` gives them (vllm/benchmarks/serve.py), where it has the figure.
Json metrics_json(const ServingMetrics& m) {
  Json json = {{"duration", m.duration},
               {"completed", m.completed},
               {"refused", m.refused},
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
  json["energy"] = nullptr;
  if (m.energy) {
    json["energy"] = {{"total_j", m.energy->joules}, {"mean_w", m.energy->watts}, {"output_token_j", nullptr}};
    if (m.energy->per_token) json["energy"]["output_token_j"] = *m.energy->per_token;
  }
  return json;
}

}  // namespace

std::string simulate_text(const SimulatedRun& run) {
  std::string text = deployment_text(run) + workload_text(run.options, run.loads.front().metrics);
  if (run.options.sweep.empty())
    text += run.options.rate > 0 ? fmt::format(", {:g} a second", run.options.rate)
            : run.options.trace.empty() && run.options.concurrency == 0 ? ", all at once"
                                                                        : "";
  if (run.options.concurrency > 0 && run.options.sweep.empty())
    text += fmt::format(", {} in flight at most", run.options.concurrency);
  text += "\n";
  for (const std::string& note : run.notes) text += "note: " + note + "\n";
  text += "\n";
  return text + (run.options.sweep.empty() ? load_text(run.loads.front()) : sweep_text(run));
}

std::string simulate_json(const SimulatedRun& run) {
  const RankLayout ranks = run.deployment.spread ? run.deployment.spread->layout : RankLayout{};
  Json json = {{"model", run.deployment.model.name},
               {"gpu", run.deployment.gpu.name},
               {"engine", name_of(run.deployment.engine.kind)},
               {"policy", name_of(run.pool.limits.policy)},
               {"dtype", run.deployment.engine.precision.linear.name},
               {"tp", ranks.tp},
               {"pp", ranks.pp},
               {"ep", ranks.ep},
               {"attention_dp", ranks.dp},
               {"replicas", run.pool.replicas},
               {"prefill_replicas", run.options.prefill_replicas},
               {"max_num_seqs", run.pool.limits.max_sequences},
               {"max_num_batched_tokens", run.pool.limits.max_tokens},
               {"block_size", run.pool.geometry.block_tokens},
               {"num_blocks", run.pool.blocks},
               {"memory_bytes",
                {{"visible", run.budget.visible.base()},
                 {"usable", run.budget.usable.base()},
                 {"weights", run.budget.weights.base()},
                 {"activations", run.budget.activations.base()},
                 {"other", run.budget.other.base()},
                 {"cache", run.budget.cache.base()}}},
               {"notes", run.notes},
               {"loads", Json::array()}};
  for (const SimulatedLoad& load : run.loads) {
    Json one = {{"load", load.name}, {"requests_that_fit", load.most_at_once}, {"metrics", metrics_json(load.metrics)}};
    if (load.fast) one["fast"] = metrics_json(*load.fast);
    if (load.slow) one["slow"] = metrics_json(*load.slow);
    if (!load.outcome.steps.empty()) {
      Json slices = Json::array();
      for (const Slice& s : over_time(load.outcome, 50)) {
        slices.push_back(
            {{"time_s", s.time}, {"cache", s.cache}, {"busy", s.busy}, {"running", s.running}, {"waiting", s.waiting}});
        slices.back()["power_w"] = s.watts ? Json(*s.watts) : Json(nullptr);
      }
      one["over_time"] = slices;
      one["refused"] = load.outcome.refused;
    }
    json["loads"].push_back(one);
  }
  return json_text(json);
}

std::string requests_csv(const ServingOutcome& outcome) {
  std::string text =
      "request,status,sent_s,input_tokens,output_tokens,cached_tokens,queue_ms,ttft_ms,tpot_ms,e2el_ms,preemptions\n";
  for (std::size_t i = 0; i < outcome.requests.size(); ++i) {
    const RequestRecord& r = outcome.requests[i];
    fmt::format_to(std::back_inserter(text), "{},{},{:.6f},{},{}", i, r.refused ? "refused" : "completed",
                   r.sent.base(), r.input, r.output);
    if (r.refused) text += ",,,,,,\n";
    else
      fmt::format_to(std::back_inserter(text), ",{},{:.3f},{:.3f},{},{:.3f},{}\n", r.hits, in_milliseconds(r.queued()),
                     in_milliseconds(r.ttft()), r.tpot() ? fmt::format("{:.3f}", in_milliseconds(*r.tpot())) : "",
                     in_milliseconds(r.latency()), r.preemptions);
  }
  return text;
}

namespace {

constexpr int kAll = 0;  // the process of what concerns no one replica

// Steps of each replica, its cache and its queue.
void add_steps(ChromeTrace& trace, const SimulatedRun& run, const ServingOutcome& outcome) {
  for (int i = 0; i < static_cast<int>(outcome.replicas); ++i)
    trace.process(i + 1, fmt::format("{} {}", i < run.pool.replicas ? "replica" : "prefill replica", i));
  for (const StepRecord& s : outcome.steps) {
    const int process = s.replica + 1;
    const char* kind = s.prompt_tokens == 0 ? "decode" : s.decodes == 0 ? "prefill" : "mixed";
    trace.span(process, 1, {kind, "step", s.start, s.end - s.start},
               {{"prompt_tokens", std::to_string(s.prompt_tokens)}, {"decodes", std::to_string(s.decodes)}});
    trace.counter(process, "load", s.start, {{"running", s.running}, {"waiting", s.waiting}});
    trace.counter(process, "cache %", s.start, {{"used", 100 * static_cast<double>(s.cache)}});
  }
}

// All replicas together, as the JSON has them: how busy the GPUs are, how full their caches, what they draw.
void add_utilisation(ChromeTrace& trace, const ServingOutcome& outcome) {
  constexpr int kSlices = 500;
  const Seconds width = (outcome.end - outcome.begin) / kSlices;
  for (const Slice& s : over_time(outcome, kSlices)) {
    const Seconds at = outcome.begin + seconds(s.time) - width / 2;
    trace.counter(kAll, "GPU busy %", at, {{"of all", 100 * s.busy}});
    trace.counter(kAll, "cache %", at, {{"of all", 100 * s.cache}});
    if (s.watts) trace.counter(kAll, "power W", at, {{"of all", *s.watts}});
  }
}

// In lanes: each in the first that is free.
void add_requests(ChromeTrace& trace, const ServingOutcome& outcome) {
  constexpr std::size_t kMostRequests = 2000;
  std::vector<Seconds> lanes;
  for (std::size_t i = 0; i < std::min(outcome.requests.size(), kMostRequests); ++i) {
    const RequestRecord& r = outcome.requests[i];
    if (r.refused) continue;
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](Seconds free) { return free <= r.sent; });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), seconds(0));
    *lane = r.last;
    const auto span = [&](const char* name, Seconds from, Seconds to) {
      trace.span(kAll, static_cast<int>(lane - lanes.begin()) + 1,
                 {fmt::format("{} {}", name, i), "request", from, to - from});
    };
    span("queue", r.sent, r.scheduled);
    span("prefill", r.scheduled, r.first);
    span("decode", r.first, r.last);
  }
}

}  // namespace

std::string timeline_json(const SimulatedRun& run, const ServingOutcome& outcome) {
  ChromeTrace trace;
  trace.process(kAll, "requests");
  add_steps(trace, run, outcome);
  add_utilisation(trace, outcome);
  add_requests(trace, outcome);
  return trace.text();
}

}  // namespace tilecast
