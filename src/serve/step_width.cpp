#include "serve/step_width.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "constants/intervals.h"
#include "parallel/split.h"

namespace tilecast {

using namespace constants;

namespace {

StepWidth width_of(const DeploymentOptions& d, const Workload& workload, Method method, const ModelSource* weights) {
  const Run run{d.spread ? rank_spec(d.model, d.spread->layout) : d.model, workload, d.engine, {}};
  const auto prepared = prepare(run);
  if (!prepared) return {};
  const auto step = forecast_step(prepared->program, d.gpu, workload.sequences(), method, weights);
  if (!step || !(step->gpu > seconds(0))) return {};
  const Interval of_gpu = interval_of_sum(prepared->program, step->calls, step->gpu);
  return {of_gpu.low / step->gpu, of_gpu.high / step->gpu};
}

Count at_least_one(double value) { return std::max<Count>(1, std::llround(value)); }

// The mean step of those that compute prompts, or of those that do not.
struct Typical {
  double steps = 0, prompt_tokens = 0, decodes = 0;
  void add(const StepRecord& s) { steps += s.steps, prompt_tokens += s.prompt_tokens, decodes += s.decodes; }
};

}  // namespace

StepWidths step_widths(const DeploymentOptions& d, const ServingOutcome& outcome, Method method,
                       const ModelSource* weights) {
  Typical with, without;
  for (const StepRecord& s : outcome.steps) (s.prompt_tokens > 0 ? with : without).add(s);
  double input = 0, context = 0, count = 0;
  for (const RequestRecord& r : outcome.requests) {
    if (!r.served()) continue;
    const Count halfway = r.input + r.output / 2;
    input += static_cast<double>(r.input), context += static_cast<double>(halfway), ++count;
  }
  if (!(count > 0)) return {};
  const auto answers = [&](const Typical& t) {
    return Requests{at_least_one(t.decodes / t.steps), 1 + d.speculation.draft, at_least_one(context / count)};
  };
  StepWidths widths;
  if (without.steps > 0) {
    Workload workload;
    workload.mode = Mode::decode;
    workload.requests = {answers(without)};
    widths.answers = width_of(d, workload, method, weights);
  }
  if (with.steps > 0) {
    // As many whole prompts as the step's tokens make, or a chunk of one.
    const double tokens = with.prompt_tokens / with.steps, prompts = std::max(1.0, tokens / (input / count));
    Workload workload;
    workload.requests = {{at_least_one(prompts), at_least_one(tokens / prompts), 0}};
    if (with.decodes >= with.steps) {
      workload.mode = Mode::mixed;
      workload.requests.push_back(answers(with));
    }
    widths.prompts = width_of(d, workload, method, weights);
  }
  return widths;
}

namespace {

// What one kind of load is off by beside its steps.
struct LoadWidths {
  const WidthConstants &first, &median_first, &token, &median_token;
};
constexpr LoadWidths kLoad{kTtftWidth, kMedianTtftWidth, kTpotWidth, kMedianTpotWidth};
constexpr LoadWidths kQueuedLoad{kQueuedTtftWidth, kQueuedMedianTtftWidth, kQueuedTpotWidth, kQueuedMedianTpotWidth};
const LoadWidths& widths_of_load(bool queued) { return queued ? kQueuedLoad : kLoad; }

double end_of(const WidthConstants& width, bool slow) { return slow ? width.up : width.down; }

}  // namespace

StepWidths served_pace(const StepWidths& steps, bool queued) {
  const WidthConstants& token = widths_of_load(queued).median_token;
  const auto log_of = [&](double open, bool slow) {
    const double evened_out = end_of(kServedScale, slow) * std::max(0.0, open);
    return std::max(std::hypot(evened_out, end_of(token, slow)), double{kNoiseWidth});
  };
  const auto of = [&](const StepWidth& w) {
    return StepWidth{std::exp(-log_of(-std::log(w.low), false)), std::exp(log_of(std::log(w.high), true))};
  };
  return {of(steps.answers), of(steps.prompts)};
}

StepWidths part_of(const StepWidths& widths, double share) {
  const auto of = [&](const StepWidth& w) { return StepWidth{std::pow(w.low, share), std::pow(w.high, share)}; };
  return {of(widths.answers), of(widths.prompts)};
}

Result<ServingOutcome> simulate_scaled(const std::vector<Request>& requests, const SimulationOptions& simulation,
                                       const StepWidths& widths, bool slow) {
  const ScaledOptions scaled(simulation, widths, slow);
  return simulate(requests, scaled.options());
}

Result<ServingEnds> serving_ends(const DeploymentOptions& deployment, const std::vector<Request>& requests,
                                 const SimulationOptions& simulation, const ServingOutcome& outcome, const Slo& slo,
                                 Method method, const ModelSource* weights, int slices,
                                 const std::optional<CountedSpan>& counted, const RunAgain& again) {
  const auto run = [&](const StepWidths& pace, bool slow) {
    return again ? again(pace, slow) : simulate_scaled(requests, simulation, pace, slow);
  };
  ServingEnds ends;
  ends.widths = step_widths(deployment, outcome, method, weights);
  ends.steps = deployment.spread ? RunKind::inference_over : RunKind::inference;
  ends.queued = ends.queued_slow = mostly_queued(outcome.requests);
  ends.pace = served_pace(ends.widths, ends.queued);
  for (const bool slow : {false, true}) {
    auto at_end = run(ends.pace, slow);
    // Steps a little slower may be what makes a queue: such a load is one that queues, and as unsure.
    if (slow && at_end && !ends.queued && mostly_queued(at_end->requests)) {
      ends.queued_slow = true;
      const StepWidths queued = served_pace(ends.widths, true);
      ends.pace.answers.high = queued.answers.high, ends.pace.prompts.high = queued.prompts.high;
      at_end = run(ends.pace, slow);
    }
    if (!at_end) return std::move(at_end).error();
    ServingMetrics& metrics = slow ? ends.slow : ends.fast;
    if (slices == 0) {
      metrics = metrics_of(*std::move(at_end), slo, {}, counted);
      continue;
    }
    metrics = metrics_of(*at_end, slo, {}, counted);
    at_end->begin = outcome.begin, at_end->end = outcome.end;
    (slow ? ends.slow_over_time : ends.fast_over_time) = over_time(*at_end, slices);
  }
  return ends;
}

StepWidth of_whole_step(const StepWidth& parts, RunKind kind) {
  const Interval whole = of_whole_run({seconds(parts.low), seconds(parts.high)}, seconds(1), kind, {});
  return {in_seconds(whole.low), in_seconds(whole.high)};
}

bool mostly_queued(const std::vector<RequestRecord>& requests) {
  Seconds waiting, to_first;
  for (const RequestRecord& r : requests)
    if (r.served()) waiting += r.queued(), to_first += r.ttft();
  return waiting * 2 > to_first;
}

RequestShares shares_of_request(double first_token, double request) {
  if (!(request > 0)) return {};
  const double first = std::clamp(first_token / request, 0.0, 1.0);
  return {first, 1 - first};
}

RequestShares shares_of_rate(const ServingEnds& parts, const ServingMetrics& forecast) {
  const double requests = std::log(parts.slow.e2el.mean / parts.fast.e2el.mean);
  const double rates = std::log(parts.fast.request_throughput / parts.slow.request_throughput);
  if (!(requests > 0) || !(rates > 0)) return {};
  const double follows = std::min(1.0, rates / requests);
  const RequestShares shares = shares_of_request(forecast.ttft.mean, forecast.e2el.mean);
  return {follows * shares.first, follows * shares.further};
}

namespace {

constexpr std::array<double Summary::*, 4> kParts = {&Summary::mean, &Summary::median, &Summary::p90, &Summary::p99};

// The whole width of a figure, the pace of its tokens among it, and what of it is beside that pace.
struct FigureWidth {
  double whole = 0, beside = 0;
};
FigureWidth figure_width(const RequestShares& shares, bool median, bool queued, bool slow) {
  const LoadWidths& load = widths_of_load(queued);
  const double first = end_of(median ? load.median_first : load.first, slow);
  const double token = end_of(median ? load.median_token : load.token, slow), pace = end_of(load.median_token, slow);
  const auto without_pace = [&](double width) { return std::sqrt(std::max(0.0, width * width - pace * pace)); };
  return {std::hypot(shares.first * first, shares.further * token),
          std::hypot(shares.first * without_pace(first), shares.further * without_pace(token))};
}

// One end of a run: its steps' pace, joined by what first tokens and further ones are off by besides.
class RunEnd {
 public:
  RunEnd(const ServingEnds& parts, const ServingMetrics& forecast, bool slow)
      : queued_(slow ? parts.queued_slow : parts.queued),
        end_(slow ? parts.slow : parts.fast),
        forecast_(forecast),
        slow_(slow) {
    set(&ServingMetrics::ttft, [&](double Summary::*) { return RequestShares{1, 0}; });
    for (Summary ServingMetrics::*tokens : {&ServingMetrics::tpot, &ServingMetrics::itl})
      set(tokens, [&](double Summary::*) { return RequestShares{0, 1}; });
    for (Summary ServingMetrics::*times : {&ServingMetrics::ttft, &ServingMetrics::tpot, &ServingMetrics::itl})
      put_in_order(end_.*times);
    set(&ServingMetrics::e2el,
        [&](double Summary::*part) { return shares_of_request(forecast_.ttft.*part, forecast_.e2el.*part); });
    // A request is made of its tokens, and is no less sure than the less sure of them.
    for (double Summary::*part : kParts) keep_within((end_.e2el).*part, forecast_.e2el.*part, reach_of_tokens(part));
    put_in_order(end_.e2el);
    // Waiting to be scheduled is a part of waiting for the first token.
    for (double Summary::*part : kParts) (end_.queue).*part = std::min((end_.queue).*part, (end_.ttft).*part);
    // Of all requests together, few that wait for long take little away.
    const FigureWidth by = figure_width(shares_of_rate(parts, forecast), true, queued_, slow_);
    for (double ServingMetrics::*rate :
         {&ServingMetrics::request_throughput, &ServingMetrics::output_throughput, &ServingMetrics::total_throughput})
      end_.*rate = farther(end_.*rate, forecast_.*rate, by, !slow_);  // a slow run has the low rate
  }
  const ServingMetrics& metrics() const { return end_; }

 private:
  // The end of a figure that lies to one side of its forecast.
  double farther(double parts, double forecast, const FigureWidth& width, bool above) const {
    if (!(forecast > 0) || !(parts > 0)) return parts;
    const double open = std::max(0.0, above ? std::log(parts / forecast) : std::log(forecast / parts));
    const double reach = std::max({std::hypot(open, width.beside), width.whole, double{kNoiseWidth}});
    return forecast * std::exp(above ? reach : -reach);
  }
  // Medians are surer than tails, which leaves these no nearer to a forecast: of one run nine in ten are never faster
  // than half of them.
  static void put_in_order(Summary& end) {
    end.p90 = std::max(end.p90, end.median), end.p99 = std::max(end.p99, end.p90);
  }
  double reach(double end, double forecast) const {
    return end > 0 && forecast > 0 ? std::abs(std::log(end / forecast)) : 0;
  }
  double reach_of_tokens(double Summary::*part) const {
    return std::max(reach(end_.ttft.*part, forecast_.ttft.*part), reach(end_.tpot.*part, forecast_.tpot.*part));
  }
  // Where there are tokens that say so: requests of one token have a first alone.
  void keep_within(double& end, double forecast, double most) const {
    if (most > 0 && reach(end, forecast) > most) end = forecast * std::exp(slow_ ? most : -most);
  }
  template <class Shares>
  void set(Summary ServingMetrics::*figure, Shares shares) {
    for (double Summary::*part : kParts) {
      double& end = (end_.*figure).*part;
      const FigureWidth width = figure_width(shares(part), part == &Summary::median, queued_, slow_);
      end = farther(end, (forecast_.*figure).*part, width, slow_);
    }
  }

  bool queued_;
  ServingMetrics end_;
  const ServingMetrics& forecast_;
  bool slow_;
};

}  // namespace

BesidePace beside_pace(const RequestShares& shares, bool median, const ServingEnds& parts) {
  return {figure_width(shares, median, parts.queued, false).beside,
          figure_width(shares, median, parts.queued_slow, true).beside};
}

ServingEnds of_whole_run(const ServingEnds& parts, const ServingMetrics& forecast) {
  ServingEnds whole = parts;
  whole.fast = RunEnd(parts, forecast, false).metrics(), whole.slow = RunEnd(parts, forecast, true).metrics();
  return whole;
}

void keep_to_patience(ServingEnds& ends, const SimulationOptions& simulation) {
  const auto cap = [&](Summary ServingMetrics::*figure, const std::optional<Seconds>& most) {
    if (!most) return;
    for (ServingMetrics* end : {&ends.fast, &ends.slow})
      for (double Summary::*part : {&Summary::mean, &Summary::median, &Summary::p90, &Summary::p99})
        (end->*figure).*part = std::min((end->*figure).*part, in_seconds(*most));
  };
  for (Summary ServingMetrics::*figure : {&ServingMetrics::ttft, &ServingMetrics::queue}) {
    cap(figure, simulation.first_token_timeout);
    cap(figure, simulation.total_timeout);
  }
  cap(&ServingMetrics::e2el, simulation.total_timeout);
}

}  // namespace tilecast
