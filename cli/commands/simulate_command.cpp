#include "cli/commands/simulate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/commands/chosen_method.h"
#include "cli/terminal/countdown.h"
#include "cluster/registry.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "serve/step_width.h"
#include "serve/trace.h"
#include "support/file.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

std::optional<Seconds> duration(std::string_view text) {
  double unit = 1;
  if (text.ends_with("ms")) unit = 1e-3, text.remove_suffix(2);
  else if (text.ends_with("us")) unit = 1e-6, text.remove_suffix(2);
  else if (text.ends_with("s")) text.remove_suffix(1);
  const auto value = finite_number(text);
  constexpr double kLeast = 1e-9, kMost = 1e9;  // a nanosecond to thirty years: no objective lies outside
  if (!value || !(*value * unit >= kLeast) || !(*value * unit <= kMost)) return std::nullopt;
  return seconds(*value * unit);
}

Status check(const SimulateOptions& o) {
  const auto bad = [](const char* flag, const std::string& problem, const char* remedy = "") {
    return Error{flag, "", problem, remedy};
  };
  for (const auto& [value, flag] :
       {std::pair(o.tp, "--tp"), {o.pp, "--pp"}, {o.ep, "--ep"}, {o.attention_dp, "--attention-dp"}})
    if (value < 1 || value > 1024) return bad(flag, "must lie between 1 and 1024");
  constexpr Count kMost = Count{1} << 30;
  for (const auto& [value, flag, least] : {std::tuple(o.dp, "--dp", Count{1}),
                                           {o.concurrency, "--concurrency", Count{0}},
                                           {o.max_sequences, "--max-num-seqs", 0},
                                           {o.max_tokens, "--max-num-batched-tokens", 0},
                                           {o.chunk, "--chunked-prefill-size", 0},
                                           {o.block_tokens, "--block-size", 0},
                                           {o.context_limit, "--max-model-len", 0},
                                           {o.prefill_replicas, "--prefill-replicas", 0},
                                           {o.prefill_tp, "--prefill-tp", 0},
                                           {o.seed, "--seed", 0}})
    if (value < least || value > kMost) return bad(flag, fmt::format("must lie between {} and {}", least, kMost));
  if (o.prefill_tp > 0 && o.prefill_replicas == 0) return bad("--prefill-tp", "needs --prefill-replicas");
  if (std::max(o.tp, o.prefill_tp) > 1024) return bad("--prefill-tp", "must be at most 1024");
  if (o.tp * o.pp * o.attention_dp > 65536) return bad("--tp", "a replica has at most 65536 GPUs");
  if ((o.dp + o.prefill_replicas) * o.attention_dp > 4096) return bad("--dp", "simulates at most 4096 replicas");
  if (!(o.memory_fraction >= 0) || o.memory_fraction > 1)
    return bad("--gpu-memory-utilization", "must lie between 0 and 1");
  if (!(o.draft_cost >= 0) || o.draft_cost > 10) return bad("--draft-cost", "must lie between 0 and 10");
  if (!(o.link_gb_per_s > 0) || o.link_gb_per_s > 1e6)
    return bad("--link", "must lie above 0 and at most at a million");
  if (!(o.link_us >= 0) || o.link_us > 1e9) return bad("--link-latency", "must lie between 0 and a billion");
  if (o.draft < 0 || o.draft > 64) return bad("--draft", "must lie between 0 and 64 tokens");
  if (!(o.acceptance >= 0) || o.acceptance > 1) return bad("--acceptance", "must lie between 0 and 1");
  if (o.block_tokens > 1 << 16) return bad("--block-size", "must be at most 65536 tokens");
  if (o.router != "round-robin" && o.router != "least-loaded")
    return bad("--router", "must be round-robin or least-loaded, not '" + o.router + "'");
  if (!o.policy.empty() && o.policy != "static" && o.policy != "max-utilization")
    return bad("--policy", "must be static or max-utilization, not '" + o.policy + "'");
  if (o.policy == "max-utilization" && o.engine != "trtllm")
    return bad("--policy", "max-utilization is TensorRT-LLM's", "--engine trtllm");
  if (o.trace.empty() && o.requests < 1) return bad("--num-prompts", "must be at least 1");
  if (!o.trace.empty() && (o.rate > 0 || o.sweep.starts_with("rate")))
    return bad(o.rate > 0 ? "--rate" : "--sweep", "a trace has arrivals of its own", "--concurrency, or no --trace");
  if (!o.sweep.empty() && (!o.timeline.empty() || !o.requests_file.empty()))
    return bad("--sweep", "has no --requests or --timeline of its own", "run one load at a time for those");
  return Ok{};
}

// The GPU, and how a replica lies over several.
Status place(DeploymentOptions& d, const SimulateOptions& o) {
  const auto ranks = static_cast<int>(o.tp * o.pp * o.attention_dp);
  std::optional<Cluster> cluster;
  if (!o.cluster.empty()) {
    auto named = cluster_of(o.cluster, ranks);
    if (!named) return std::move(named).error();
    cluster = *std::move(named);
  }
  if (!cluster || !o.gpu.empty()) {
    auto gpu = load_gpu(o.gpu.empty() ? "H100-SXM" : o.gpu);
    if (!gpu) return std::move(gpu).error();
    d.gpu = *std::move(gpu);
  } else {
    d.gpu = cluster->gpu;
  }
  if (cluster && cluster->gpu.name != d.gpu.name)
    return Error{"--gpu", "", d.gpu.name + " is not the GPU of " + o.cluster + ", " + cluster->gpu.name,
                 "give one of them"};
  if (ranks == 1 && o.ep == 1) return Ok{};
  if (!cluster) {
    const Cluster* known = built_in_cluster_of(d.gpu.measured().name);
    if (!known)
      return Error{"--cluster", "", "no cluster of " + d.gpu.name + " is known", "a description (docs/clusters.md)"};
    auto grown = cluster_of(known->name, ranks);
    if (!grown) return std::move(grown).error();
    cluster = *std::move(grown);
    cluster->gpu = d.gpu;
  }
  RankSpread spread{{}, *std::move(cluster)};
  spread.layout.tp = static_cast<int>(o.tp), spread.layout.pp = static_cast<int>(o.pp);
  spread.layout.dp = static_cast<int>(o.attention_dp);
  // Ranks with requests of their own are one replica because they share the experts.
  spread.layout.ep = static_cast<int>(o.attention_dp > 1 && o.ep == 1 ? o.tp * o.attention_dp : o.ep);
  d.spread = std::move(spread);
  return Ok{};
}

Result<DeploymentOptions> deployment_from(const SimulateOptions& o) {
  DeploymentOptions d;
  auto model = find_model(o.model);
  if (!model) return std::move(model).error();
  d.model = *std::move(model);
  if (auto fine = place(d, o); !fine) return fine.error();
  const auto kind = engine_from(o.engine);
  if (!kind) return kind.error();
  d.engine.kind = *kind;
  const std::string own = d.model.quantization.empty() ? d.model.dtype : d.model.quantization;
  auto precision = precision_from(o.dtype.empty() ? own : o.dtype, o.kv_dtype);
  if (!precision) return std::move(precision).error();
  d.engine.precision = *std::move(precision);
  d.static_batches = o.policy == "static";
  d.max_utilization = o.policy == "max-utilization";
  d.memory_fraction = o.memory_fraction;
  d.max_sequences = o.max_sequences, d.max_tokens = o.max_tokens, d.chunk = o.chunk, d.block_tokens = o.block_tokens;
  if (o.no_chunked_prefill) d.chunked_prefill = false;
  if (o.chunked_prefill) d.chunked_prefill = true;
  d.reuse = !o.no_prefix_cache;
  d.overlapped = !o.no_overlap;
  d.speculation = {o.draft, o.acceptance};
  d.draft_cost = o.draft_cost;
  d.replicas = o.dp;
  return d;
}

Result<std::vector<Request>> requests_from(const SimulateOptions& o, std::vector<std::string>& notes) {
  if (!o.trace.empty()) {
    auto trace = read_trace(o.trace);
    if (!trace) return std::move(trace).error();
    for (const std::string& note : trace->notes) notes.push_back(o.trace + ": " + note);
    return std::move(trace->requests);
  }
  const auto workload = workload_from(o, o.requests, o.burstiness);
  if (!workload) return workload.error();
  return generate(*workload);
}

Count mean_tokens(const std::vector<Request>& requests) {
  Count tokens = 0;
  for (const Request& r : requests) tokens += r.input + r.output;
  return requests.empty() ? 1 : ceil_div(tokens, static_cast<Count>(requests.size()));
}

std::string name_of_load(const SimulateOptions& o) {
  if (o.concurrency > 0 && !(o.rate > 0)) return fmt::format("concurrency {}", o.concurrency);
  if (o.rate > 0) return fmt::format("rate {:g}", o.rate);
  return o.trace.empty() ? "all at once" : "trace";
}

// What all loads share.
struct Setup {
  SimulationOptions simulation;
  Deployment deployment, prefill;  // the second where prompts have replicas of their own
  std::optional<ChosenMethod> chosen;
};

Result<SimulatedLoad> one_load(SimulatedRun& run, const SimulateOptions& o, Setup& setup, const std::string& name) {
  SimulatedLoad load;
  load.name = name;
  const auto requests = requests_from(o, run.notes);
  if (!requests) return requests.error();
  SimulationOptions simulation = setup.simulation;
  simulation.concurrency = o.concurrency;
  Countdown countdown(name);
  auto outcome = simulate(*requests, simulation, [&](double share) { countdown(share); });
  if (!outcome) return std::move(outcome).error();
  for (const Deployment* d : {&setup.deployment, &setup.prefill})
    if (d->steps)
      if (auto fine = d->steps->status(); !fine) return fine.error();
  load.outcome = *std::move(outcome);
  load.metrics = metrics_of(load.outcome, run.slo);
  load.most_at_once = most_at_once(run.pool, mean_tokens(*requests));
  if (o.no_interval || load.metrics.completed == 0) return load;
  const StepWidths widths = step_widths(run.deployment, load.outcome, setup.chosen->method, setup.chosen->weights());
  for (const bool slow : {false, true}) {
    const ScaledCost cost(*setup.simulation.pool.cost, widths, slow);
    simulation.pool.cost = &cost;
    std::optional<ScaledCost> of_prompts;
    if (simulation.prefill)
      simulation.prefill->cost = &of_prompts.emplace(*setup.simulation.prefill->cost, widths, slow);
    const auto again = simulate(*requests, simulation);
    if (!again) return again.error();
    (slow ? load.slow : load.fast) = metrics_of(*again, run.slo);
  }
  return load;
}

// The pool for prompts: as the other, but for its ranks.
Status set_up_prefill(Setup& setup, const SimulatedRun& run, const SimulateOptions& o) {
  if (o.prefill_replicas == 0) return Ok{};
  setup.simulation.link = {gigabytes_per_second(o.link_gb_per_s), microseconds(o.link_us)};
  setup.simulation.prefill = run.pool;
  if (o.prefill_tp > 0 && o.prefill_tp != o.tp) {
    SimulateOptions other = o;
    other.tp = o.prefill_tp;
    const auto options = deployment_from(other);
    if (!options) return options.error();
    auto deployment = deploy(*options, setup.chosen->method, setup.chosen->weights());
    if (!deployment) return std::move(deployment).error();
    setup.prefill = *std::move(deployment);
    setup.simulation.prefill = setup.prefill.pool;
  }
  setup.simulation.prefill->replicas = o.prefill_replicas * o.attention_dp;
  return Ok{};
}

Status set_up(Setup& setup, SimulatedRun& run, const SimulateOptions& o) {
  auto chosen = chosen_method(o.method, o.weights);
  if (!chosen) return std::move(chosen).error();
  setup.chosen = *std::move(chosen);
  auto options = deployment_from(o);
  if (!options) return std::move(options).error();
  run.deployment = *std::move(options);
  auto deployment = deploy(run.deployment, setup.chosen->method, setup.chosen->weights());
  if (!deployment) return std::move(deployment).error();
  setup.deployment = *std::move(deployment);
  run.budget = setup.deployment.budget;
  run.pool = setup.deployment.pool;
  setup.simulation.pool = run.pool;
  setup.simulation.router = o.router == "least-loaded" ? Router::least_loaded : Router::round_robin;
  setup.simulation.context_limit = o.context_limit > 0 ? o.context_limit : run.deployment.model.max_context;
  const ModelSpec& model = run.deployment.model;
  if (model.max_context > 0 && o.context_limit > model.max_context)
    run.notes.push_back(fmt::format("{} was made for {} tokens; --max-model-len allows {}", model.name,
                                    model.max_context, o.context_limit));
  return set_up_prefill(setup, run, o);
}

}  // namespace

Result<WorkloadOptions> workload_from(const LoadOptions& o, Count requests, double burstiness) {
  WorkloadOptions w;
  w.requests = requests, w.rate = o.rate, w.burstiness = burstiness;
  w.prefixes = o.prefixes, w.prefix_tokens = o.prefix_tokens;
  w.seed = static_cast<std::uint64_t>(o.seed);
  const auto input = lengths_from(o.input, "--input"), output = lengths_from(o.output, "--output");
  if (!input) return input.error();
  if (!output) return output.error();
  w.input = *input, w.output = *output;
  if (auto fine = check(w); !fine) {
    Error e = fine.error();
    e.field = "--" + e.field;
    return e;
  }
  return w;
}

Result<Sweep> sweep_from(const std::string& text) {
  const auto bad = [&] {
    return Error{"--sweep", "", "'" + text + "' is no sweep",
                 "rate=1..32 (doubling), rate=1,2,5 or concurrency=1..256"};
  };
  Sweep sweep;
  const auto equals = text.find('=');
  if (equals == std::string::npos) return bad();
  const std::string name = text.substr(0, equals), values = text.substr(equals + 1);
  if (name != "rate" && name != "concurrency") return bad();
  sweep.of_rate = name == "rate";
  if (const auto dots = values.find(".."); dots != std::string::npos) {
    const auto from = finite_number(std::string_view(values).substr(0, dots));
    const auto to = finite_number(std::string_view(values).substr(dots + 2));
    if (!from || !to || !(*from >= kLeastRate) || !(*to <= kMostRate) || *to < *from || *to / *from > 1e6)
      return bad();
    for (double v = *from; v < *to * (1 - 1e-9); v *= 2) sweep.values.push_back(v);
    sweep.values.push_back(*to);
  } else {
    for (const std::string& part : split(values, ',')) {
      const auto v = finite_number(part);
      if (!v || !(*v >= kLeastRate) || !(*v <= kMostRate)) return bad();
      sweep.values.push_back(*v);
    }
  }
  if (sweep.values.size() > 64) return bad();
  if (!sweep.of_rate)
    for (double& v : sweep.values) {
      if (v < 1 || v > 1 << 30) return bad();
      v = std::round(v);
    }
  return sweep;
}

Result<Slo> slo_from(const std::string& text) {
  Slo slo;
  if (text.empty()) return slo;
  for (const std::string& part : split(text, ',')) {
    const auto equals = part.find('=');
    const auto time = equals == std::string::npos ? std::nullopt : duration(std::string_view(part).substr(equals + 1));
    const std::string name = part.substr(0, equals);
    if (!time || (name != "ttft" && name != "tpot" && name != "e2el"))
      return Error{"--slo", "", "'" + part + "' is no objective", "ttft=500ms,tpot=30ms,e2el=10s"};
    (name == "ttft" ? slo.ttft : name == "tpot" ? slo.tpot : slo.e2el) = *time;
  }
  return slo;
}

Result<SimulatedRun> simulate_loads(const SimulateOptions& o) {
  if (auto fine = check(o); !fine) return fine.error();
  SimulatedRun run;
  run.options = o;
  auto slo = slo_from(o.slo);
  if (!slo) return std::move(slo).error();
  run.slo = *slo;
  Setup setup;
  if (auto fine = set_up(setup, run, o); !fine) return fine.error();

  Sweep sweep{true, {o.rate}};
  if (!o.sweep.empty()) {
    auto given_sweep = sweep_from(o.sweep);
    if (!given_sweep) return std::move(given_sweep).error();
    sweep = *std::move(given_sweep);
  }
  for (const double value : sweep.values) {
    SimulateOptions at = o;
    if (!o.sweep.empty()) (sweep.of_rate ? at.rate = value : static_cast<double>(at.concurrency = std::llround(value)));
    auto load = one_load(run, at, setup, name_of_load(at));
    if (!load) return std::move(load).error();
    load->value = value;
    run.loads.push_back(*std::move(load));
    if (!o.sweep.empty()) run.loads.back().outcome = {};  // only its figures are shown
  }
  return run;
}

namespace {

// A run that served nobody has no figures to show.
Status check_served(const SimulatedRun& run) {
  for (const SimulatedLoad& load : run.loads)
    if (load.metrics.completed > 0) return Ok{};
  const SimulatedLoad& load = run.loads.front();
  const std::vector<std::string>& why = load.outcome.refused;
  return error(fmt::format("none of {} requests can be served{}", load.metrics.refused,
                           why.empty() ? std::string() : ": " + why.front()),
               "shorter requests, more memory or a larger --max-model-len");
}

}  // namespace

Result<std::string> run_simulate(const SimulateOptions& o) {
  // A file that cannot be written shows at once, not after the run.
  for (const std::string& path : {o.requests_file, o.timeline})
    if (!path.empty())
      if (auto fine = check_writable(path); !fine) return fine.error();
  const auto run = simulate_loads(o);
  if (!run) return run.error();
  if (auto served = check_served(*run); !served) return std::move(served).error();
  const ServingOutcome& outcome = run->loads.front().outcome;
  if (!o.requests_file.empty())
    if (auto written = write_text_file(o.requests_file, requests_csv(outcome)); !written)
      return std::move(written).error();
  if (!o.timeline.empty())
    if (auto written = write_text_file(o.timeline, timeline_json(*run, outcome)); !written)
      return std::move(written).error();
  return o.json ? simulate_json(*run) : simulate_text(*run);
}

}  // namespace tilecast
