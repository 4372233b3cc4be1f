#include "estimate/learned.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "constants/estimate.h"
#include "constants/intervals.h"
#include "estimate/kept_share.h"

namespace tilecast {

using namespace constants;

namespace {

// An eager estimate with the floors of a graph.
Estimate in_graph(Estimate e, const Plan& plan, const Gpu& gpu) {
  const Physics physics = default_physics(gpu);
  for (std::size_t i = 0; i < e.launches.size(); ++i) {
    LaunchEstimate& launch = e.launches[i];
    const Seconds floor =
        launch_floor(physics, plan.launches[i], Runtime::graph) * (i == 0 ? 1.0 : physics.follower_floor);
    const Seconds less = launch.floor - floor;
    launch.floor = floor;
    launch.achieved[static_cast<std::size_t>(Resource::launch)] -= less;
    launch.latency -= less;
    e.latency -= less;
  }
  return e;
}

LearnedInput input_as_launched(const Kernel& kernel, const Plan& own_plan, const Estimate& analytic, const Gpu& gpu,
                               const Context& context) {
  const auto input = [&](const Plan& plan, const Estimate& e, const Gpu& card) {
    return LearnedInput{terms_of(plan, e, overlap_of(card)), raw_features(kernel, plan, e, card, context),
                        analytic.assumed_bound, gpu.calibration ? calibration_variant(kernel, context) : std::string()};
  };
  if (!gpu.inherits() || gpu.as_parent) return input(own_plan, analytic, gpu);
  const auto parents_plan = plan(kernel, *gpu.parent, context);
  if (!parents_plan) return input(own_plan, analytic, gpu);  // the change is what makes the kernel possible
  const Estimate parents = estimate(*parents_plan, *gpu.parent, context, Method::analytic);
  LearnedInput moved = input(*parents_plan, parents, *gpu.parent);
  moved.move = LearnedInput::Move{analytic.latency / parents.latency, parents.assumed_bound};
  return moved;
}

}  // namespace

LearnedInput learned_input(const Kernel& kernel, const Plan& plan, const Estimate& analytic, const Gpu& gpu,
                           const Context& context) {
  LearnedInput input = input_as_launched(kernel, plan, analytic, gpu, context);
  if (launched_by_host(context)) {
    Context graph = context;
    graph.runtime = Runtime::graph;
    input.in_graph = std::make_shared<const LearnedInput>(
        input_as_launched(kernel, plan, in_graph(analytic, plan, gpu), gpu, graph));
    input.call = host_call(kernel.shape);
  }
  return input;
}

namespace {

// The physics may be wrong about a change, so each end of the interval moves out: a card whose analytic forecast is
// half its parent's is 1.19 times as uncertain in either direction.
float doubt_of(const LearnedInput& input) {
  return input.move ? static_cast<float>(kMoveDoubt * std::abs(std::log(input.move->factor))) : 0.0f;
}

// The learned time on the card that was measured, then on this one.
Seconds time_at(const LearnedInput& input, Seconds base, float log) {
  if (!input.move) return std::max(base * std::exp(log), input.bound);
  return std::max(std::max(base * std::exp(log), input.move->bound) * input.move->factor, input.bound);
}

// What the forests were grown on: the kernel alone, if its host is added at the end.
const LearnedInput& alone(const LearnedInput& input, const Standing& standing) {
  return standing.hosts && input.in_graph ? *input.in_graph : input;
}

// `input` as the kernel is launched.
Seconds with_host(Seconds kernel, const LearnedInput& input, const Standing& standing) {
  if (!standing.hosts || !input.in_graph) return kernel;
  const HostTiming* host = host_of(*standing.hosts, standing.host_card, standing.host_vendor, input.call);
  return host ? timed_by_host(*host, kernel) : kernel;
}

// The ends keep their distance from the median, since hosts differ too.
LearnedTime with_host(LearnedTime t, const LearnedInput& input, const Standing& standing) {
  const double longer = with_host(t.median, input, standing) / t.median;
  if (longer == 1) return t;
  for (Seconds* time : {&t.median, &t.low, &t.high}) *time = *time * longer;
  t.ceiling = std::min(with_host(t.ceiling, input, standing), t.median);
  return t;
}

}  // namespace

Seconds untuned_time(const LearnedInput& input) { return microseconds(tuned_time(input.terms, Tuning{}, 1)); }

Prepared prepare(const LearnedInput& given, const Standing& standing) {
  const LearnedInput& input = alone(given, standing);
  const Seconds base = microseconds(tuned_time(input.terms, standing.rates));
  return {base, relative_features(input.raw, base, standing.code, standing.card_index, standing.source_index),
          standing.share < 1 ? static_cast<float>(std::log(base / untuned_time(input))) : 0};
}

namespace {

// A forest's answer, a logarithm over the base, with the share of what was learned that holds on the card.
float carried(float log, float tuned, float share) { return share < 1 ? kept(tuned + log, share) - tuned : log; }

// The ends of a spread are trained separately and may cross the median.
Width ends_of(const Spread& spread, std::span<const float> features) {
  return {std::max(0.0, -static_cast<double>(spread.low.predict(features))),
          std::max(0.0, static_cast<double>(spread.high.predict(features)))};
}

// What the model's rows leave over of a kernel. Of a card that was measured never more than of the same card had nobody
// measured it: what was seen of it makes nothing less sure.
Width own_width(const FamilyModel& model, const Standing& standing, std::span<const float> features) {
  if (standing.guessed) return ends_of(model.unseen_spread, features);
  const Width unseen = ends_of(standing.has_sibling() ? model.sibling_spread : model.unseen_spread, features);
  if (!standing.known() || standing.domain) return unseen;
  return narrower(ends_of(model.seen_spread, features), unseen);
}

}  // namespace

LearnedTime learned_time(const FamilyModel& model, const LearnedInput& given, const Standing& standing, Wanted wanted) {
  const LearnedInput& input = alone(given, standing);
  const Prepared p = prepare(input, standing);
  const float trust = standing.domain ? standing.domain->trust(p.features) : 1.0f;
  const float median = carried(trust * standing.forest->predict(p.features.row()), p.tuned, standing.share);
  if (wanted == Wanted::time) {
    const Seconds time = time_at(input, p.base, median);
    const LearnedTime alike = with_host({time, time, time, time}, given, standing);
    return standing.calibration ? calibrated(alike, input, standing) : alike;
  }
  LearnedTime t;
  t.median = time_at(input, p.base, median);
  t.own = own_width(model, standing, p.features.row());
  const Footing footing = standing.footing();
  t.shared = shared_width(footing.loop, footing.doubt, footing.kernel_known);
  const Width whole = kernel_width(t.own, footing);
  // About the forecast, also where that is the bound.
  const double doubt = doubt_of(input) + kOutsideWidth * (1 - static_cast<double>(trust));
  t.low = std::max(t.median * std::exp(-whole.down - doubt), input.bound);
  t.high = t.median * std::exp(whole.up + doubt);
  const float ceiling = carried(model.ceiling.predict(p.features.row()), p.tuned, standing.share);
  t.ceiling = std::min(time_at(input, p.base, ceiling), t.median);
  t = with_host(t, given, standing);
  return standing.calibration ? calibrated(t, input, standing) : t;
}

LearnedTime calibrated(const LearnedTime& t, const LearnedInput& input, const Standing& standing) {
  const Prepared p = prepare(input, standing);
  const CalibrationStanding card = calibration_standing(standing.calibration, standing.key, input.variant);
  const LogCorrection log = log_correction(card, input.terms, standing.rates, calibration_place(p.features, p.base));
  const double spread = card.family ? static_cast<double>(card.family->spread) : 1;
  LearnedTime c;
  c.median = std::max(t.median * std::exp(log.whole()), input.bound);
  c.low = std::max(c.median * std::pow(t.low / t.median, spread), input.bound);
  c.high = c.median * std::pow(t.high / t.median, spread);
  c.shared = {t.shared.down * spread, t.shared.up * spread};
  c.own = t.own;
  // Two measurements of one kernel differ, however well the card is known.
  c.low = std::min(c.low, std::max(c.median * std::exp(-kNoiseWidth), input.bound));
  c.high = std::max(c.high, c.median * std::exp(double{kNoiseWidth}));
  c.ceiling = std::clamp(t.ceiling * std::exp(log.card), input.bound, c.median);
  return c;
}

void learned_times(std::span<const LearnedInput> inputs, const Standing& standing, std::span<Seconds> out) {
  assert(inputs.size() == out.size());
  constexpr std::size_t kBlock = 256;  // as many rows as a forest walks together
  std::array<float, kBlock * kFeatureCount> features;
  std::array<float, kBlock> logs;
  std::array<float, kBlock> trust, tuned;
  for (std::size_t start = 0; start < inputs.size(); start += kBlock) {
    const std::size_t n = std::min(kBlock, inputs.size() - start);
    for (std::size_t i = 0; i < n; ++i) {
      const Prepared p = prepare(inputs[start + i], standing);
      out[start + i] = p.base;
      tuned[i] = p.tuned;
      trust[i] = standing.domain ? standing.domain->trust(p.features) : 1.0f;
      const auto row = p.features.row();
      std::copy(row.begin(), row.end(), features.begin() + static_cast<std::ptrdiff_t>(i * kFeatureCount));
    }
    standing.forest->predict(std::span<const float>(features).first(n * kFeatureCount),
                             std::span<float>(logs).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      const LearnedInput &given = inputs[start + i], &input = alone(given, standing);
      const float log = carried(trust[i] * logs[i], tuned[i], standing.share);
      const Seconds time = with_host(time_at(input, out[start + i], log), given, standing);
      out[start + i] = standing.calibration ? calibrated({time, time, time, time}, input, standing).median : time;
    }
  }
}

namespace {

// Only the part above the bound is stretched, so no launch falls below its own bound and the launches still sum to the
// whole.
Estimate with_time(const Estimate& analytic, const LearnedTime& t, Seen seen) {
  Estimate e = analytic;
  const Seconds above = analytic.latency - analytic.assumed_bound;
  const double factor = above > seconds(0) ? (t.median - analytic.assumed_bound) / above : 1;
  e.latency = t.median;
  e.interval = {t.low, t.high};
  e.shared = t.shared;
  e.ceiling = t.ceiling;
  e.efficiency = e.bound / e.latency;
  e.seen = seen;
  for (LaunchEstimate& launch : e.launches)
    launch.latency = launch.assumed_bound + (launch.latency - launch.assumed_bound) * factor;
  return e;
}

}  // namespace

Estimate calibrated(const Estimate& analytic, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                    const Context& context) {
  const std::string key = model_key(kernel);
  Standing standing;
  standing.rates = tuned_rates(Tuning{}, 1);
  standing.calibration = gpu.calibration.get();
  standing.key = key;
  const LearnedInput input = learned_input(kernel, plan, analytic, gpu, context);
  const LearnedTime t{analytic.latency, analytic.interval.low, analytic.interval.high, analytic.ceiling,
                      analytic.shared};
  return with_time(analytic, calibrated(t, input, standing),
                   gpu.calibration->families.contains(key) ? Seen::calibrated : analytic.seen);
}

Estimate corrected(const Estimate& analytic, const FamilyModel& model, const Kernel& kernel, const Plan& plan,
                   const Gpu& gpu, const Context& context, bool guessed, Wanted wanted) {
  Standing standing = standing_of(model, context, gpu);
  standing.guessed = guessed;
  if (guessed) standing.kernel_known = standing.kernel_known_somewhere = false;
  if (guessed && standing.seen == Seen::yes) standing.seen = Seen::no;  // the card was, this kernel never
  const LearnedTime t = learned_time(model, learned_input(kernel, plan, analytic, gpu, context), standing, wanted);
  Estimate e = with_time(analytic, t, standing.seen);
  e.method = Method::tilecast;
  return e;
}

}  // namespace tilecast
