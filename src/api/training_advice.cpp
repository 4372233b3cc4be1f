#include "api/training_advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/training_runs.h"
#include "cluster/fabric.h"
#include "cluster/registry.h"
#include "model/recomputation.h"
#include "parallel/fitting.h"

namespace tilecast {
namespace {

double tokens_in_step(const ParallelRun& run) { return real(run.run.workload.tokens()); }

std::string layout_and_batch(const ParallelRun& run) {
  const Recomputation& recompute = run.run.training.options.recompute;
  return fmt::format("{}, micro-batch {}{}", text_of(run.layout), run.micro_batch,
                     recompute == Recompute::none ? "" : ", recompute " + text_of(recompute));
}

// Changes of the best layout, each by what a token takes with it over what it takes without.
class Changes {
 public:
  Changes(const TrainingQuery& query, const TrainingPlan& plan, const StepPricing& with)
      : query_(query),
        plan_(plan),
        best_(plan.ranked.front()),
        with_(with),
        token_(best_.step.base() / tokens_in_step(best_.run)) {}

  void add_settings() {
    const TrainingSetup& training = best_.run.run.training;
    const Gpu& gpu = query_.cluster.gpu;
    if (best_.run.run.engine.precision.linear.weight_bits > 8 && training.options.precision == TrainPrecision::none &&
        gpu.has_tensor(DType::fp8, DType::fp32)) {
      const bool scales = gpu.tensor_generation() == TensorGeneration::tcgen05;
      ParallelRun run = best_.run;
      run.run.training.options.precision = scales ? TrainPrecision::mxfp8 : TrainPrecision::fp8_current;
      add(fmt::format("products in 8 bits (--train-precision {})", name_of(run.run.training.options.precision)), run);
    }
    if (best_.run.layout.tp > 1 && best_.run.layout.tensor_overlap != TensorOverlap::pipelined) {
      ParallelRun run = best_.run;
      run.layout.tensor_overlap = TensorOverlap::pipelined;
      add("tensor parallel exchanges cut up beside their products (user buffers, async TP; --framework nemo)", run);
    }
    if (best_.run.layout.ep > 1) add_dispatch(training);
    ParallelRun run = best_.run;
    run.run.workload.requests.front().count *= 2;
    add(fmt::format("a global batch of {} sequences, if the model learns as well from it",
                    run.run.workload.sequences()),
        run);
  }

  // The slowest network on sale that is half as fast again.
  void add_network() {
    if (!query_.cluster.inter || query_.cluster.nodes < 2) return;
    constexpr double kWorthIt = 1.5;
    for (const char* fabric : {"hdr200", "ndr400", "xdr800"}) {
      auto cluster = with_fabric(query_.cluster, fabric);
      if (!cluster || cluster->inter->bandwidth < query_.cluster.inter->bandwidth * kWorthIt) continue;
      add(fmt::format("a network of {:.0f} GB/s a GPU between nodes ({})",
                      in_gigabytes_per_second(cluster->inter->bandwidth), fabric),
          best_.run, *cluster);
      return;
    }
  }

  // The next larger card of the same generation, with the fastest layout that it holds.
  void add_larger_card() {
    const Cluster& own = query_.cluster;
    const Cluster* larger = nullptr;
    for (const Cluster& c : built_in_clusters())
      if (c.gpu.vendor == own.gpu.vendor && c.gpu.tensor_generation() == own.gpu.tensor_generation() &&
          c.intra.kind == own.intra.kind && c.gpus_per_node == own.gpus_per_node &&
          c.gpu.dram.size > own.gpu.dram.size && (!larger || c.gpu.dram.size < larger->gpu.dram.size))
        larger = &c;
    if (!larger) return;
    Cluster cluster = *larger;
    cluster.nodes = own.nodes, cluster.inter = own.inter;
    std::optional<Seconds> fastest;
    const ParallelRun* layout = nullptr;
    const auto consider = [&](const PlannedLayout& p) {
      const auto forecast = forecast_parallel(p.run, cluster, with_);
      if (!forecast || !forecast->fits() || (fastest && forecast->step >= *fastest)) return;
      fastest = forecast->step, layout = &p.run;
    };
    consider(best_);
    for (const PlannedLayout* p : beyond_within(larger->gpu.dram.size, kMostLayouts)) consider(*p);
    if (layout)
      say(fmt::format("{} {} ({:.0f} GiB) in place of {}: {}", query_.gpus, larger->gpu.name,
                      in_gibibytes(larger->gpu.dram.size), own.gpu.name, layout_and_batch(*layout)),
          fastest->base() / tokens_in_step(*layout));
  }

  // Faster layouts that need more memory than there is, made to fit.
  void add_fitting() {
    std::optional<FittingChange> best;
    const PlannedLayout* of = nullptr;
    for (const PlannedLayout* p : beyond_within(query_.cluster.gpu.dram.size * kNearlyFits, kMostMadeToFit)) {
      auto change = change_that_fits(p->run, query_.cluster, with_);
      if (change && (!best || change->step < best->step)) best = std::move(change), of = p;
    }
    if (best)
      say(fmt::format("{}, with {}", layout_and_batch(of->run), best->what),
          best->step.base() / tokens_in_step(best->run));
  }

  void say(std::string what, double token) { gain(std::move(what), 1 - token / token_); }
  void gain(std::string what, double gain) {
    constexpr double kLeastGain = 0.01;
    if (gain >= kLeastGain) advice_.push_back({std::move(what), gain});
  }

  std::vector<TrainingAdvice> take() && {
    std::stable_sort(advice_.begin(), advice_.end(),
                     [](const TrainingAdvice& a, const TrainingAdvice& b) { return a.gain > b.gain; });
    return std::move(advice_);
  }

 private:
  // Each is a forecast, or some twenty.
  static constexpr std::size_t kMostLayouts = 100, kMostMadeToFit = 4;
  static constexpr double kNearlyFits = 2;  // times the card's memory, which one change may save

  // The fastest layouts that do not fit but need no more than this.
  std::vector<const PlannedLayout*> beyond_within(Bytes memory, std::size_t most) const {
    std::vector<const PlannedLayout*> found;
    for (const PlannedLayout& p : plan_.beyond)
      if (found.size() < most && p.memory <= memory) found.push_back(&p);
    return found;
  }

  void add_dispatch(const TrainingSetup& training) {
    if (training.token_dispatch == TokenDispatch::all_to_all) {
      ParallelRun run = best_.run;
      run.run.training.token_dispatch = TokenDispatch::deepep;
      add("tokens once to each rank of their experts (--token-dispatch deepep)", run);
    }
    if (training.dispatch_beside) return;
    ParallelRun run = best_.run;
    run.run.training.dispatch_beside = true;
    add("tokens on their way while another micro-batch computes (--dispatch-overlap)", run);
  }

  void add(std::string what, const ParallelRun& run) { add(std::move(what), run, query_.cluster); }
  void add(std::string what, const ParallelRun& run, const Cluster& cluster) {
    const auto forecast = forecast_parallel(run, cluster, with_);
    if (forecast && forecast->fits()) say(std::move(what), forecast->step.base() / tokens_in_step(run));
  }

  const TrainingQuery& query_;
  const TrainingPlan& plan_;
  const PlannedLayout& best_;
  const StepPricing& with_;
  double token_;
  std::vector<TrainingAdvice> advice_;
};

}  // namespace

std::vector<TrainingAdvice> advice_for(const PlanTrainQuery& q, const TrainingQuery& query, const TrainingPlan& plan,
                                       const TrainingRun& whole, const StepPricing& with) {
  if (plan.ranked.empty()) return {};
  Changes changes(query, plan, with);
  changes.add_settings();
  changes.add_network();
  changes.add_larger_card();
  changes.add_fitting();
  PlanTrainQuery at_once = q;
  at_once.storage = 0;
  if (whole.days > 0)
    changes.gain("checkpoints written while the training goes on",
                 1 - whole_run(at_once, query, plan.ranked.front(), {}).days / whole.days);
  return std::move(changes).take();
}

}  // namespace tilecast
