#include "serve/steady.h"

#include <algorithm>
#include <cmath>

namespace tilecast {
namespace {

// No served step is longer; an iteration that comes here runs away.
constexpr double kLongestStep = 30;

struct StepTimes {
  const PoolOptions& pool;
  const ReplicaLoad& demand;

  // A step of `decodes` requests in the middle of their answers, and `prompts` chunks of `chunk` tokens each.
  double of(double decodes, double prompts, Count chunk) const {
    StepBatch batch;
    batch.decodes = std::max<Count>(prompts > 0 ? 0 : 1, std::llround(decodes));
    batch.decode_tokens = 1 + pool.limits.speculation.draft;
    batch.decode_context = batch.decodes * (demand.input + demand.output / 2);
    const Count whole = std::llround(prompts);
    for (Count i = 0; i < whole; ++i) batch.prefill.push_back({chunk, 0});
    const HostTimes& host = pool.host;
    if (batch.prefill.empty() || host.graphs_for_prompts) {
      const Count size = captured_size(host.graphs, batch.tokens());
      if (size > 0) batch.padding = size - batch.tokens();
    }
    double gpu = pool.cost->of(batch).base();
    if (batch.decodes > 0) gpu *= 1 + pool.draft_cost * static_cast<double>(pool.limits.speculation.draft);
    const double between = host.per_step.base() + host.per_sequence.base() * static_cast<double>(batch.sequences());
    return host.overlapped ? std::max(gpu + host.gap.base(), between) : gpu + between;
  }
};

// Tokens of the prompts that one step may take, beside the decodes.
Count prompt_budget(const PoolOptions& pool, double decodes) {
  const SchedulerLimits& l = pool.limits;
  if (l.policy == Policy::sglang) return l.chunked_prefill && l.chunk > 0 ? l.chunk : l.max_tokens;
  return l.max_tokens - std::llround(decodes);
}

// Answers tokens a request yields in a step, on average.
double tokens_a_step(const Speculation& s) {
  double sum = 1, chance = 1;
  for (Count i = 0; i < s.draft; ++i) sum += chance *= s.acceptance;
  return sum;
}

double front(const HostTimes& host, const ReplicaLoad& d) {
  return (host.receive + host.per_request + host.per_prompt_token * static_cast<double>(d.input)).base();
}

void set_cache(SteadyState& s, const PoolOptions& pool, double requests, const ReplicaLoad& d) {
  // Blocks of a request half way through its answer.
  const double blocks = requests * static_cast<double>(pool.geometry.blocks_for(d.input + d.output / 2));
  s.cache_share = blocks / static_cast<double>(pool.blocks);
  s.sequence_share = requests / static_cast<double>(pool.limits.max_sequences);
  if (s.cache_share > 1) s.limit = Limit::cache;
  else if (s.sequence_share > 1) s.limit = Limit::sequences;
}

// One mean step, given the length of the one before; negative where tokens do not suffice.
double next_step(const StepTimes& times, double step, double gain) {
  const ReplicaLoad& d = times.demand;
  const double decodes = d.rate * static_cast<double>(d.output) / gain * step;
  const Count budget = prompt_budget(times.pool, decodes);
  if (budget < 1) return -1;
  const double chunks = std::ceil(static_cast<double>(d.input) / static_cast<double>(budget));
  const Count chunk = std::max<Count>(1, std::llround(static_cast<double>(d.input) / chunks));
  const double plain = times.of(decodes, 0, 0);
  const double prompts = d.rate * step * chunks;   // chunks that come in a step
  if (times.pool.limits.policy == Policy::sglang)  // prompts run in steps of their own
    return plain + prompts * times.of(0, 1, chunk);
  if (prompts * static_cast<double>(chunk) > static_cast<double>(budget)) return -1;
  if (prompts <= 1) return plain + prompts * (times.of(decodes, 1, chunk) - plain);
  return times.of(decodes, prompts, chunk);
}

// The length at which a step follows one of its own length, from below, by secants; `limit` says why there is none.
template <class Next>
double settled(double step, Next next, Limit& limit) {
  double last = 0, last_next = 0;
  for (int i = 0; i < 100; ++i) {
    const double longer = next(step);
    if (longer < 0 || longer > kLongestStep) {
      limit = longer < 0 ? Limit::tokens : Limit::time;
      return step;
    }
    if (std::abs(longer - step) < 1e-3 * step) return longer;
    // A slope of one and more never meets; the bound lets the search run past where it would, and so find out.
    double slope = last > 0 && step != last ? (longer - last_next) / (step - last) : 0;
    slope = std::clamp(slope, 0.0, 0.9);
    last = step, last_next = longer;
    step += (longer - step) / (1 - slope);
  }
  limit = Limit::time;
  return step;
}

}  // namespace

Limit SteadyState::scarcest() const {
  if (limit != Limit::none) return limit;
  if (cache_share >= time_share && cache_share >= sequence_share) return Limit::cache;
  return sequence_share >= time_share ? Limit::sequences : Limit::time;
}

SteadyState steady_state(const PoolOptions& pool, const ReplicaLoad& d) {
  SteadyState s;
  const StepTimes times{pool, d};
  const double gain = tokens_a_step(pool.limits.speculation);
  const double step = settled(
      times.of(1, 0, 0), [&](double t) { return next_step(times, t, gain); }, s.limit);
  if (!s.stable()) return s;
  s.tpot = seconds(step / gain);
  s.running = d.rate * static_cast<double>(d.output) * s.tpot.base();
  set_cache(s, pool, s.running, d);
  // How near the rate is to where the iteration runs away: by how much a step grows with its own length.
  const double slope = (next_step(times, step * 1.05, gain) - step) / (0.05 * step);
  s.time_share = std::clamp(slope, 0.0, 1.0);
  const Count budget = std::max<Count>(1, prompt_budget(pool, s.running));
  const double chunks = std::ceil(static_cast<double>(d.input) / static_cast<double>(budget));
  const Count chunk = std::max<Count>(1, std::llround(static_cast<double>(d.input) / chunks));
  const double with_prompt = times.of(pool.limits.policy == Policy::sglang ? 0 : s.running, 1, chunk);
  // A request waits for the step that runs to end, for the one that is already planned where planning overlaps, and for
  // the prompts before it (M/D/1).
  const double busy = std::min(0.95, d.rate * chunks * with_prompt);
  const double wait = step * (pool.host.overlapped ? 1.5 : 0.5) + busy / (2 * (1 - busy)) * with_prompt;
  s.ttft = seconds(front(pool.host, d) + wait + chunks * with_prompt);
  return s;
}

SteadyState steady_prefill(const PoolOptions& pool, const ReplicaLoad& d) {
  SteadyState s;
  const StepTimes times{pool, d};
  const Count budget = std::max<Count>(1, prompt_budget(pool, 0));
  const double chunks = std::ceil(static_cast<double>(d.input) / static_cast<double>(budget));
  const double service =
      chunks * times.of(0, 1, std::max<Count>(1, std::llround(static_cast<double>(d.input) / chunks)));
  s.time_share = d.rate * service;
  if (s.time_share >= 1) {
    s.limit = Limit::time;
    return s;
  }
  s.running = s.time_share;
  s.ttft = seconds(front(pool.host, d) + service * (1 + s.time_share / (2 * (1 - s.time_share))));
  return s;
}

SteadyState steady_decode(const PoolOptions& pool, const ReplicaLoad& d) {
  SteadyState s;
  const StepTimes times{pool, d};
  const double gain = tokens_a_step(pool.limits.speculation);
  const auto next = [&](double step) { return times.of(d.rate * static_cast<double>(d.output) / gain * step, 0, 0); };
  const double step = settled(times.of(1, 0, 0), next, s.limit);
  if (!s.stable()) return s;
  s.tpot = seconds(step / gain);
  s.running = d.rate * static_cast<double>(d.output) * s.tpot.base();
  s.time_share = std::clamp((next(step * 1.05) - step) / (0.05 * step), 0.0, 1.0);
  set_cache(s, pool, s.running, d);
  return s;
}

}  // namespace tilecast
