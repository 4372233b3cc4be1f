#include "parallel/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "constants/cluster.h"
#include "constants/host.h"
#include "engine/any_routing.h"
#include "engine/run_width.h"
#include "model/build.h"
#include "parallel/rank_memory.h"
#include "parallel/split.h"
#include "parallel/stages.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

Error batch_error(std::string field, std::string problem, std::string remedy) {
  return Error{"", std::move(field), std::move(problem), std::move(remedy)};
}

}  // namespace

Seconds ParallelForecast::exposed() const {
  Seconds sum;
  for (const AxisTime& axis : axes) sum += axis.exposed;
  return sum;
}

bool ParallelForecast::fits() const {
  return std::all_of(stages.begin(), stages.end(), [](const StageForecast& s) { return s.memory.total() <= s.usable; });
}

Result<Batches> batches_of(const ParallelRun& parallel) {
  const RankLayout& layout = parallel.layout;
  Batches batches{1, parallel.run.workload};
  if (parallel.run.workload.mode != Mode::train) {
    // Requests are dealt out in turn; the first replica has as many as any.
    Count before = 0;
    for (Requests& r : batches.each.requests) {
      const Count after = before + r.count;
      r.count = ceil_div(after, static_cast<Count>(layout.dp)) - ceil_div(before, static_cast<Count>(layout.dp));
      before = after;
    }
    std::erase_if(batches.each.requests, [](const Requests& r) { return r.count == 0; });
    return batches;
  }
  const Count global = parallel.run.workload.sequences();
  if (global % layout.dp != 0)
    return batch_error(
        "global-batch", fmt::format("{} sequences do not divide among {} data parallel ranks", global, layout.dp),
        global < layout.dp
            ? fmt::format("at least {}", layout.dp)
            : fmt::format("nearest: {} or {}", global / layout.dp * layout.dp, (global / layout.dp + 1) * layout.dp));
  const Count own = global / layout.dp;
  const Count micro = parallel.micro_batch > 0 ? parallel.micro_batch : own;
  if (own % micro != 0)
    return batch_error("micro-batch",
                       fmt::format("{} does not divide the {} sequences of a data parallel rank", micro, own),
                       "a divisor of it");
  batches.micro_batches = own / micro;
  batches.each.requests = {parallel.run.workload.requests.front()};
  batches.each.requests.front().count = micro;
  return batches;
}

namespace {

// A graph whose shapes are given is one rank's share already: ranks repeat it, each on data of its own.
Status check_replicas(const RankLayout& layout) {
  if (layout.dp < 1) return batch_error("dp", "must be one or more", "1 for a single rank");
  for (const auto& [field, ranks] :
       {std::pair("tp", layout.tp), {"pp", layout.pp}, {"cp", layout.cp}, {"ep", layout.ep}})
    if (ranks > 1)
      return batch_error(field, "a graph with given shapes cannot be cut up", "dp alone, or the model's configuration");
  return Ok{};
}
// Sections that repeat, one after the other.
Count layers_in(const Graph& graph) {
  Count n = 0;
  for (const Section& section : graph.sections)
    if (section.repeats > 1) n += section.repeats;
  return n;
}

// One forecast in the making: of a model that is cut up, or of a graph that every rank runs (`given`).
class Forecasting {
 public:
  Forecasting(const ParallelRun& run, const Cluster& cluster, const StepPricing& with, const ModelSpec& spec,
              Batches batches, const Graph* given = nullptr)
      : parallel_(run), cluster_(cluster), with_(with), spec_(spec), given_(given), batches_(std::move(batches)) {
    setting_.emplace(ExchangeSetting{spec_, parallel_.layout, batches_.each, parallel_.run.engine,
                                     parallel_.run.training, cluster_.gpus_per_node});
  }

  Result<ParallelForecast> forecast() && {
    if (auto done = price_rank(); !done) return std::move(done).error();
    if (auto done = price_exchanges(); !done) return std::move(done).error();
    stages_ = assemble_stages(spec_, layout(), graph_, costs_);
    if (given_) stages_.front().layers = layers_in(*given_);
    if (auto done = run_pipeline(); !done) return std::move(done).error();
    if (auto done = end_step(); !done) return std::move(done).error();
    if (auto done = add_memory(); !done) return std::move(done).error();
    add_summary();
    out_.sections = std::move(costs_);
    return std::move(out_);
  }

 private:
  const RankLayout& layout() const { return parallel_.layout; }
  bool trains() const { return parallel_.run.workload.mode == Mode::train; }

  Status price_rank() {
    auto graph = given_ ? Result<Graph>(*given_) : rank_graph(spec_, layout(), batches_.each);
    if (!graph) return std::move(graph).error();
    graph_ = *std::move(graph);
    Run rank = parallel_.run;
    rank.workload = batches_.each;
    rank.training.accumulation = batches_.micro_batches;
    const bool shared = layout().sharding != Sharding::none;
    auto prepared = prepare(rank, graph_, shared ? layout().shards() : 1);
    if (!prepared) return std::move(prepared).error();
    prepared_ = *std::move(prepared);
    const Count sequences = batches_.each.sequences();
    auto step = forecast_step(prepared_.program, cluster_.gpu, sequences, with_.method, with_.weights);
    if (!step) return std::move(step).error();
    out_.rank = *std::move(step);
    if (!trains()) bound_any_routing(out_.rank, prepared_.program, cluster_.gpu);
    out_.program = prepared_.program;
    out_.host_bound = out_.rank.host_bound();
    costs_ = section_costs(graph_, out_.program, out_.rank);
    update_ = update_cost(out_.program, out_.rank);
    return Ok{};
  }

  Result<Seconds> time_of(const Exchange& exchange) {
    auto timed = exchange.experts ? forecast_exchange(*exchange.experts, cluster_, *with_.links, with_.links_of)
                                  : forecast_collective(exchange.call, cluster_, *with_.links, with_.links_of);
    if (!timed) return std::move(timed).error();
    out_.exchange_times.push_back(*std::move(timed));
    out_.exchanges.push_back(exchange);
    return out_.exchange_times.back().latency * exchange.times;
  }

  Status price_exchanges() {
    std::vector<Exchange> all;
    if (!given_) all = layer_exchanges(graph_, *setting_);
    for (Exchange& e : shard_exchanges(graph_, *setting_)) all.push_back(std::move(e));
    for (const Exchange& e : all) {
      auto time = time_of(e);
      if (!time) return std::move(time).error();
      PassCost& cost = costs_[e.section].of(e.pass);
      (e.beside ? cost.beside : cost.exposed)[static_cast<std::size_t>(e.axis)] += *time;
      cost.host += exchange_launch() * e.times;
      if (e.axis == Axis::tensor) wait_for_late(cost, layout().tp * e.times);
    }
    share_out_host(costs_, out_.program, update_);
    const double moved = bytes_before_scatter(*setting_);
    for (SectionCost& c : costs_) {
      const Bytes own = bytes(moved * real(c.dense + c.experts));
      c.backward.compute += own / (cluster_.gpu.dram.bandwidth * kCopyShare);
      c.backward.moved += own;
    }
    if (trains() && offloads_activations(parallel_.run.training.offload)) copy_activations();
    for (SectionCost& c : costs_)
      for (PassCost* pass : {&c.forward, &c.backward}) pass->finish(exchange_share());
    return Ok{};
  }
  BytesPerSecond host_link() const { return cluster_.gpu.links.pcie * kOffloadShare; }
  // What a layer keeps goes to the host in its forward pass and comes back for its gradients.
  void copy_activations() {
    const std::vector<Bytes> kept =
        kept_by_section(prepared_.forward, parallel_.run.engine, parallel_.run.training.options.recompute);
    for (std::size_t i = 0; i < costs_.size() && i < kept.size(); ++i)
      if (costs_[i].repeats > 1) costs_[i].forward.copies = costs_[i].backward.copies = kept[i] / host_link();
  }
  // The host updates: gradients go down, their parameters are read and written there, and weights come up.
  Seconds host_update(double params) const {
    const Precision& p = parallel_.run.engine.precision;
    const bool wide = parallel_.run.training.wide_gradients || p.mixed == MixedPrecision::autocast;
    const double narrow = p.activation.activation_bits / 8, gradient = wide ? 4 : narrow;
    const Bytes moved = bytes(params * (gradient + narrow));
    constexpr double kRead = 4 + 3 * 4, kWritten = 3 * 4;  // gradient, parameter and two moments in fp32
    return moved / host_link() + bytes(params * (kRead + kWritten)) / gigabytes_per_second(kUpdateMemory);
  }
  // Late hosts hold up launches; late messages the exchange itself.
  void wait_for_late(PassCost& cost, double ranks) const {
    const bool between = layout().pp > 1 && layout().ranks() > cluster_.gpus_per_node;
    const Seconds across = layout().tp > cluster_.gpus_per_node ? with_.late.across_nodes : seconds(0);
    if (between) cost.host += (with_.late.between_stages + across) * ranks;
    else cost.exposed[static_cast<std::size_t>(Axis::tensor)] += across * ranks;
  }
  // An eager host calls exchanges as it calls operators.
  Seconds exchange_launch() const {
    const bool eager = parallel_.run.engine.kind == EngineKind::pytorch;
    return eager ? launch_unit(parallel_.run.engine) * kExchangeUnits : seconds(0);
  }
  double exchange_share() const { return std::min(0.5, kExchangeSms / cluster_.gpu.sms); }

  Status run_pipeline() {
    Pipeline& p = out_.pipeline;
    p.schedule = layout().order();
    p.ranks = layout().pp, p.chunks = layout().chunks;
    p.micro_batches = static_cast<int>(batches_.micro_batches);
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      // One message for each neighbour, in either pass.
      const double messages = (i > 0 ? 1 : 0) + (i + 1 < stages_.size() ? 1 : 0);
      stages_[i].forward += with_.late.message * messages;
      if (trains()) stages_[i].backward_input += with_.late.message * messages;
      p.stages.push_back({stages_[i].forward, stages_[i].backward_input, stages_[i].backward_weight,
                          stages_[i].forward_tokens, stages_[i].backward_tokens});
    }
    p.exchange_share = exchange_share();
    if (p.ranks > 1) {
      auto send = forecast_collective(stage_send(*setting_), cluster_, *with_.links, with_.links_of);
      if (!send) return std::move(send).error();
      p.send = send->latency;
      if (trains())
        if (auto fine = check(p); !fine) return fine;
    }
    if (!trains()) {  // one batch through all stages
      for (std::size_t i = 0; i < stages_.size(); ++i) pipeline_total_ += stages_[i].forward;
      pipeline_total_ += p.send * static_cast<double>(p.ranks * p.chunks - 1);
    } else if (p.ranks == 1 && p.schedule != PipelineSchedule::dual_pipe_v) {
      for (const StageCost& s : stages_)
        pipeline_total_ += (s.forward + s.backward_input + s.backward_weight) * static_cast<double>(p.micro_batches);
    } else {
      timeline_ = summarise(p);
      pipeline_total_ = timeline_.total;
    }
    add_stage_forecasts();
    return Ok{};
  }

  // Chunks of a rank together.
  void add_stage_forecasts() {
    out_.stages.resize(static_cast<std::size_t>(layout().pp));
    for (std::size_t v = 0; v < stages_.size(); ++v) {
      StageForecast& s = out_.stages[static_cast<std::size_t>(layout().rank_of(static_cast<int>(v)))];
      s.layers += stages_[v].layers;
      s.forward += stages_[v].forward;
      s.backward += stages_[v].backward_input + stages_[v].backward_weight;
    }
    const auto busy = [](const StageForecast& s) { return s.forward + s.backward; };
    out_.busiest = static_cast<std::size_t>(
        std::max_element(out_.stages.begin(), out_.stages.end(),
                         [&](const StageForecast& a, const StageForecast& b) { return busy(a) < busy(b); }) -
        out_.stages.begin());
  }

  // Gradients, the optimizer and updated weights, of the rank that has most of them.
  Status end_step() {
    const auto each = static_cast<double>(batches_.micro_batches);
    const std::size_t pp = out_.stages.size();
    StageCost busiest;
    for (const std::size_t v : stages_of(layout(), out_.busiest)) busiest += stages_[v];
    // A host that launches slower than the card computes holds everything up.
    out_.compute = busiest.compute * each;
    for (std::size_t a = 0; a < out_.axes.size(); ++a)
      out_.axes[a] = {busiest.total[a] * each, busiest.exposed[a] * each};
    const Seconds busy = out_.stages[out_.busiest].forward + out_.stages[out_.busiest].backward;
    const Seconds saved = timeline_.saved.empty() ? seconds(0) : timeline_.saved[out_.busiest];
    out_.axes[static_cast<std::size_t>(Axis::expert)].exposed -= saved;
    out_.bubble = pipeline_total_ - (busy * each - saved);
    out_.step = pipeline_total_;
    out_.bound = busiest.bound * each;
    if (!trains()) {  // one batch through all stages
      out_.bound = seconds(0);
      for (const StageCost& s : stages_) out_.bound += s.bound;
    }
    Seconds update;
    const double shards = layout().sharding != Sharding::none ? layout().shards() : 1;
    const bool by_host = trains() && offloads_optimizer(parallel_.run.training.offload);
    for (std::size_t rank = 0; rank < pp; ++rank) {
      StageCost own;
      for (const std::size_t v : stages_of(layout(), rank)) own += stages_[v];
      const double share = total_params_of(stages_) > 0 ? real(own.dense + own.experts) / total_params_of(stages_) : 1;
      out_.stages[rank].update = by_host ? host_update(real(own.dense + own.experts) / shards) : update_.time * share;
      update = std::max(update, out_.stages[rank].update);
      if (rank == out_.busiest) out_.bound += update_.bound * share;
    }
    if (auto added = add_step_exchanges(busiest); !added) return added;
    if (auto added = add_tied_exchange(); !added) return added;
    out_.optimizer = update + between_steps();
    out_.step += out_.optimizer;
    return Ok{};
  }

  Status add_step_exchanges(const StageCost& own) {
    const double layers = std::max<double>(1, real(own.layers));
    for (const Exchange& e : step_exchanges(own.dense, own.experts, *setting_)) {
      auto time = time_of(e);
      if (!time) return std::move(time).error();
      Seconds exposed = *time;
      if (hides(layout(), e)) {
        // It hides behind the last micro-batch's gradients, or the first one's forward pass, but for one layer's share:
        // what is ready last.
        const Seconds beside = e.pass == Pass::backward ? own.backward_input + own.backward_weight : own.forward;
        exposed = std::max(together(beside, *time, exchange_share()) - beside, *time / layers);
      }
      AxisTime& axis = out_.axes[static_cast<std::size_t>(e.axis)];
      axis.total += *time, axis.exposed += exposed;
      out_.step_exposed.push_back(exposed);
      out_.step += exposed;
    }
    return Ok{};
  }

  // The first and the last stage wait for each other, and the optimizer, whose norm is of all gradients, for both.
  Status add_tied_exchange() {
    const Count table = trains() && !given_ ? copied_table(spec_, layout(), graph_) : 0;
    if (table == 0) return Ok{};
    auto time = time_of(tied_exchange(table, *setting_));
    if (!time) return std::move(time).error();
    AxisTime& axis = out_.axes[static_cast<std::size_t>(Axis::pipeline)];
    axis.total += *time, axis.exposed += *time;
    out_.step_exposed.push_back(*time);
    out_.step += *time;
    return Ok{};
  }

  static double total_params_of(const std::vector<StageCost>& stages) {
    double sum = 0;
    for (const StageCost& s : stages) sum += real(s.dense + s.experts);
    return sum;
  }
  Seconds between_steps() const { return out_.rank.total - std::max(out_.rank.gpu, out_.rank.host); }

  Status add_memory() {
    const Run& run = parallel_.run;
    TrainingSetup training = run.training;
    training.accumulation = batches_.micro_batches;
    const Sharding sharding = layout().sharding;
    const auto share_of = [&](double shards) {
      return StateShare{sharding >= Sharding::parameters ? 1 / shards : 1,
                        sharding >= Sharding::gradients ? 1 / shards : 1,
                        sharding >= Sharding::optimizer ? 1 / shards : 1};
    };
    StateShares shares;
    shares.dense = share_of(layout().shards());
    shares.experts = share_of(layout().expert_replicas());
    out_.usable = usable_memory(cluster_.gpu, run.engine.kind);
    const std::vector<Graph> parts = rank_parts(spec_, layout(), prepared_.forward);
    std::optional<CacheNeed> cache;
    if (!given_) cache = cache_need(rank_spec(spec_, layout()));
    for (std::size_t rank = 0; rank < out_.stages.size(); ++rank) {
      if (layout().pp > 1 && trains())
        shares.micro_batches = timeline_.kept[rank] / static_cast<double>(layout().chunks);
      // Its next forward begins before the backward that would have made room for it ends.
      if (trains() && run.training.dispatch_beside && layout().ep > 1)
        shares.micro_batches = std::min(shares.micro_batches + 1.0 / layout().chunks, real(batches_.micro_batches));
      StageForecast& stage = out_.stages[rank];
      Workload own = batches_.each;
      stage.memory = memory_need(parts[rank], own, run.engine, cache, training, cluster_.gpu, shares);
      // Keys and values of this stage's layers alone.
      if (layout().pp > 1) stage.memory.cache = stage.memory.cache * (real(stage.layers) / real(all_layers()));
      if (sharding == Sharding::parameters) stage.memory.workspace += gathered_weights(parts[rank]);
      if (trains()) stage.memory.activations += gathered_inputs(stage.layers, has_head(rank)) * shares.micro_batches;
      stage.usable = out_.usable;
    }
    if (!is_budgeted(run) || sharding != Sharding::none || layout().cp > 1) return Ok{};
    if (auto done = budget_stages(spec_, layout(), run.engine, cluster_.gpu, out_.stages); !done) return done;
    for (const StageForecast& stage : out_.stages)
      out_.usable = &stage == &out_.stages.front() ? stage.usable : std::min(out_.usable, stage.usable);
    return Ok{};
  }
  Count all_layers() const {
    Count n = 0;
    for (const StageForecast& s : out_.stages) n += s.layers;
    return std::max<Count>(n, 1);
  }
  // Inputs of attention and feed-forward, and of the head, of which a rank's own tokens are counted already.
  Bytes gathered_inputs(Count layers, bool head) const {
    if (!layout().keep_gathered || !layout().sequence_parallel) return bytes(0);
    const StackSpec& stack = spec_.decoder ? *spec_.decoder : *spec_.encoder;
    const double tokens = real(batches_.each.tokens()) / layout().cp * (1 - 1.0 / layout().tp);
    const double element = parallel_.run.engine.precision.activation.activation_bits / 8;
    return bytes((2 * real(layers) + (head ? 1 : 0)) * tokens * real(stack.hidden) * element);
  }
  bool has_head(std::size_t rank) const {
    return layout().rank_of(layout().virtual_stages() - 1) == static_cast<int>(rank);
  }
  // Two sections' weights are whole at a time: one in use, the next on its way; and one section's gradients.
  Bytes gathered_weights(const Graph& part) const {
    double most = 0;
    for (const Section& section : part.sections) {
      Count n = 0;
      for (const Operator& op : section.operators) n += op.weights.total();
      most = std::max(most, real(n));
    }
    const double element = parallel_.run.engine.precision.activation.activation_bits / 8;
    return bytes(most * element * (trains() ? 3 : 2) * (1 - 1.0 / layout().shards()));
  }

  void add_summary() {
    const double groups = static_cast<double>(layout().tp) * layout().cp * layout().dp;
    const auto each = static_cast<double>(batches_.micro_batches);
    out_.micro_batches = batches_.micro_batches;
    out_.tokens_per_second = real(parallel_.run.workload.tokens()) / out_.step.base();
    double flops = 0;
    for (const Section& section : graph_.sections)
      for (const Operator& op : section.operators)
        flops += real(section.repeats * op.times) * model_flops(op) / (is_repeated(op, layout()) ? layout().tp : 1);
    flops *= groups * each * (trains() ? 3 : 1);
    const double peak =
        dense_peak(cluster_.gpu, multiplied_format(parallel_.run, cluster_.gpu)).base() * layout().ranks();
    if (peak > 0) out_.utilisation = flops / (peak * out_.step.base());
    Seconds seen;
    for (std::size_t i = 0; i < out_.rank.calls.size(); ++i)
      if (out_.rank.calls[i].seen != Seen::no)
        seen += out_.rank.calls[i].each * static_cast<double>(out_.program.calls[i].times);
    if (out_.rank.gpu > seconds(0)) out_.seen_share = seen / out_.rank.gpu;
    add_interval();
  }
  // Kernels err together, exchanges err together, the two apart.
  void add_interval() {
    const Seconds exposed = out_.exposed(), rest = out_.step - exposed;
    double low = 0, high = 0, sum = 0;
    for (std::size_t i = 0; i < out_.exchanges.size(); ++i) {
      const CollectiveForecast& f = out_.exchange_times[i];
      const double weight = out_.exchanges[i].times * f.latency.base();
      sum += weight;
      low += weight * (f.low / f.latency), high += weight * (f.high / f.latency);
    }
    const double exchange_low = sum > 0 ? low / sum : 1, exchange_high = sum > 0 ? high / sum : 1;
    const double whole = out_.rank.total.base();
    const double kernels_low = out_.rank.parts.low.base() / whole, kernels_high = out_.rank.parts.high.base() / whole;
    const auto both = [&](double kernels, double exchange) {
      return seconds(std::hypot(rest.base() * kernels, exposed.base() * exchange));
    };
    out_.parts = {std::max(out_.bound, out_.step - both(1 - kernels_low, 1 - exchange_low)),
                  out_.step + both(kernels_high - 1, exchange_high - 1)};
    out_.interval = of_whole_run(out_.parts, out_.step, kind_of(out_.program, layout().ranks() > 1),
                                 {out_.rank.host_bound(), out_.bound});
  }

  const ParallelRun& parallel_;
  const Cluster& cluster_;
  const StepPricing& with_;
  const ModelSpec& spec_;
  const Graph* given_;
  Batches batches_;
  std::optional<ExchangeSetting> setting_;
  Graph graph_;
  PreparedRun prepared_;
  std::vector<SectionCost> costs_;
  UpdateCost update_;
  std::vector<StageCost> stages_;
  Seconds pipeline_total_;
  PipelineTimeline timeline_;
  ParallelForecast out_;
};

}  // namespace

Result<ParallelForecast> forecast_parallel(const ParallelRun& run, const Cluster& cluster, const StepPricing& with) {
  if (const auto* graph = std::get_if<Graph>(&run.run.model)) {
    if (auto fine = check_replicas(run.layout); !fine) return std::move(fine).error();
    if (auto fine = check(run.layout, cluster); !fine) return std::move(fine).error();
    static const ModelSpec kNone;
    Batches batches{std::max<Count>(1, run.run.training.accumulation), run.run.workload};
    return Forecasting(run, cluster, with, kNone, std::move(batches), graph).forecast();
  }
  const auto* spec = std::get_if<ModelSpec>(&run.run.model);
  if (run.run.workload.requests.empty()) return error("the workload has no tokens", "give batch and seq");
  if (auto fine = check(run.layout, *spec); !fine) return std::move(fine).error();
  if (run.layout.cp > 1)
    for (const Requests& r : run.run.workload.requests) {
      if (run.run.workload.mode == Mode::decode || r.new_tokens == 1)
        return Error{"", "cp", "shares out a prompt's tokens; a decode step has none to share", "leave cp at 1"};
      if (auto fine = check(run.layout, *spec, r.new_tokens); !fine) return std::move(fine).error();
    }
  if (auto fine = check(run.layout, cluster); !fine) return std::move(fine).error();
  auto batches = batches_of(run);
  if (!batches) return std::move(batches).error();
  return Forecasting(run, cluster, with, *spec, *std::move(batches)).forecast();
}

}  // namespace tilecast
