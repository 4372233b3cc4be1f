#include "serve/steady_state.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

#include "constants/serve.h"
#include "serve/backlog_chain.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double emitted(const Speculation& s) {
  double sum = 1, share = 1;
  for (Count i = 0; i < s.draft; ++i) sum += share *= s.acceptance_of(i);
  return sum;
}

// One replica of a pool under its share of the load.
class SteadyReplica {
 public:
  SteadyReplica(const PoolOptions& pool, const SteadyLoad& load) : pool_(pool), load_(load) {
    // Micro-batches of a pipeline share a replica's places and blocks and take turns for its requests.
    streams_ = pool.replicas * pool.stages;
    group_ = std::max<Count>(1, pool.in_step * pool.stages);
    rate_ = load.rate / static_cast<double>(streams_);
    if (!pool.reuse) load_.cached = 0;
    fresh_ = std::max<Count>(1, load.input.mean - load_.cached);
    const double v = variation(load.output);
    answer_context_ = static_cast<double>(load.input.mean) + static_cast<double>(load.output.mean) * (1 + v * v) / 2;
    tokens_left_ = static_cast<double>(load.output.mean - 1) / emitted(pool.limits.speculation);
  }

  double rate() const { return rate_; }
  double steps_of_answer() const { return tokens_left_; }
  Count streams() const { return streams_; }

  // A step of `decodes` answers and `tokens` tokens of prompts. Asked at few numbers of answers and straight between
  // them, since every new one is forecasts of whole steps: 1, 2, 4, 8, then 1.5 and 2 times a power of two; with
  // prompts, which outweigh answers, powers of four.
  double step(double decodes, double tokens, bool from_idle = false) const {
    if (decodes < 0.5) return whole_step(0, tokens, from_idle);
    double low = 1, high = 2;
    if (tokens > 0) {
      while (4 * low <= decodes) low *= 4;
      high = 4 * low;
    } else if (decodes >= 2) {
      low = std::exp2(std::floor(std::log2(decodes)));
      high = 2 * low;
      if (low >= 8) (decodes < 1.5 * low ? high : low) = 1.5 * low;
    }
    const double share = std::clamp((decodes - low) / (high - low), 0.0, 1.0);
    const double below = whole_step(std::llround(low), tokens, from_idle);
    return share == 0 ? below : below * (1 - share) + share * whole_step(std::llround(high), tokens, from_idle);
  }
  double whole_step(Count decodes, double tokens, bool from_idle) const {
    StepBatch batch;
    batch.decodes = decodes;
    batch.decode_tokens = 1 + pool_.limits.speculation.draft;
    batch.decode_context = std::llround(answer_context_ * static_cast<double>(batch.decodes));
    Count left = std::llround(tokens);
    if (left > 0 && left < fresh_) {
      batch.prefill.push_back({left, load_.cached + (fresh_ - left) / 2});
      left = 0;
    }
    for (; left >= fresh_; left -= fresh_) batch.prefill.push_back({fresh_, load_.cached});
    if (left > 0) batch.prefill.push_back({left, load_.cached});
    batch.adapters = std::min({load_.adapters, pool_.features.adapter_slots, batch.sequences()});
    if (batch.adapters > 0) batch.adapter_tokens = batch.tokens();
    batch.encodes = std::llround(load_.media * tokens / static_cast<double>(fresh_));
    batch.guided = std::llround(load_.guided * static_cast<double>(decodes));
    const double pace = std::max(1.0, static_cast<double>(pool_.stages) * pool_.stage_share);
    return step_time(batch, pool_, from_idle).base() * pace;
  }

  // Prompts of a step at most, in tokens, beside `decodes` answers.
  double room(double decodes) const {
    const SchedulerLimits& l = pool_.limits;
    if (l.policy == Policy::sglang)
      return static_cast<double>(l.chunked_prefill && l.chunk > 0 ? l.chunk : std::max(l.max_tokens, fresh_));
    return static_cast<double>(l.max_tokens) - decodes * static_cast<double>(1 + l.speculation.draft);
  }
  bool cuts() const { return pool_.limits.chunked_prefill; }
  bool prompts_alone() const { return pool_.limits.policy == Policy::sglang; }

  // The chain of prompts beside `decodes` answers; `alone`: a pool for prompts.
  ChainResult prompts(double decodes, bool alone, Count steps = 0) const {
    BacklogChain chain;
    const double room_left = room(decodes), fresh = static_cast<double>(fresh_);
    if (room_left < 1 || (!cuts() && room_left < fresh)) return {};
    // Pieces: whole prompts where many fit a step, quarters where few do, steps' worths where one does not.
    double piece = fresh;
    if (room_left < fresh) {
      chain.each = std::llround(std::ceil(fresh / room_left));
      piece = fresh / static_cast<double>(chain.each);
    } else if (cuts() && room_left < 4 * fresh) {
      chain.each = 4;
      piece = fresh / 4;
    }
    // Ranks that step together share one chain, and so do micro-batches, which follow each other through the stages:
    // the one with most prompts sets the pace.
    const auto group = static_cast<double>(group_);
    chain.served = std::clamp<Count>(static_cast<Count>(room_left / piece * group), 1, 256);
    chain.rate = rate_ * group;
    chain.replicas = std::max<Count>(1, streams_ / group_);
    chain.idles = alone;
    const double whole = fresh / piece;
    chain.time = [&, piece, group, whole](Count pieces) {
      const double worst = std::max(std::min(static_cast<double>(pieces), whole), static_cast<double>(pieces) / group);
      const bool without_answers = alone || (pieces > 0 && prompts_alone());
      if (alone && pieces == 0) return 0.0;
      return step(without_answers ? 0 : decodes, worst * piece);
    };
    // Neighbours on the way to the fixed point differ little.
    chain.near = near_;
    ChainResult result = solve(chain, steps);
    if (result.stable) near_ = result.backlog;
    return result;
  }

  // Requests that fit at once: those of the whole replica over its micro-batches.
  double places_in_cache(bool decodes_only) const {
    const KvGeometry& g = pool_.geometry;
    const bool promised = pool_.limits.policy == Policy::trtllm_no_evict;
    const double end = static_cast<double>(load_.input.mean + load_.output.mean + pool_.limits.speculation.draft);
    // SGLang keeps a share of what answers still need free: least in the long run (scheduler_sglang.h).
    const double ahead = pool_.limits.policy == Policy::sglang ? kLongRunRatio * (end - answer_context_) : 0;
    const auto tokens = static_cast<Count>(promised ? end : std::min(end, answer_context_ + ahead));
    Count blocks = pool_.blocks;
    if (!decodes_only && load_.cached > 0) blocks -= g.blocks_for(load_.cached);
    const Count own = decodes_only ? tokens : tokens - load_.cached;
    return static_cast<double>(blocks) / static_cast<double>(std::max<Count>(1, g.blocks_for(own))) /
           static_cast<double>(pool_.stages);
  }
  double sequences() const {
    return static_cast<double>(pool_.limits.max_sequences) / static_cast<double>(pool_.stages);
  }

 private:
  const PoolOptions& pool_;
  SteadyLoad load_;
  Count streams_ = 1, group_ = 1, fresh_ = 1;
  double rate_ = 0, answer_context_ = 0, tokens_left_ = 0;
  mutable std::vector<double> near_;  // the last chain's distribution
};

// Smallest D with time per token(D) x rate x steps + 1 <= D, at most `most`; 0 where there is none. Where it only
// matters whether there is one, any.
double fixed_point(double most, const std::function<double(double)>& wanted, bool any) {
  double low = 1, high = 0;
  const double first = wanted(1);
  if (first <= 1 + 1e-9) return 1;
  if (!(first < kInfinite)) return 0;  // prompts alone are too many
  for (double d = 2; high == 0; d *= 2) {
    d = std::min(d, most);
    if (d <= low) return 0;
    if (wanted(d) <= d) high = d;
    else if (d >= most) return 0;
    else low = d;
  }
  for (int i = 0; i < 12 && !any && high - low > 0.02 * low + 0.05; ++i) {
    const double middle = (low + high) / 2;
    (wanted(middle) <= middle ? high : low) = middle;
  }
  return high;
}

// Tokeniser and the way to the scheduler: as many servers as there are front ends, each request the same (M/D/1).
double front_end(const HostTimes& host, const SteadyLoad& load, double fronts) {
  const double work = host.per_request.base() + host.per_prompt_token.base() * static_cast<double>(load.input.mean);
  const double busy = load.rate * work / fronts;
  if (busy >= 1) return kInfinite;
  return host.receive.base() + host.reply.base() + work + work / fronts * busy / (2 * (1 - busy));
}

// Waiting for a place among `places`, each held for `time`.
double place_wait(double places, double load, double time, double variation) {
  const auto servers = static_cast<Count>(places);
  if (static_cast<double>(servers) <= load) return kInfinite;
  return erlang_c(servers, load) * time / (static_cast<double>(servers) - load) * (1 + variation * variation) / 2;
}

struct Answers {
  Limit limit = Limit::none;
  double decoding = 0;   // that a request of a micro-batch sees, itself among them
  double in_flight = 0;  // on average
  double token = 0;      // time of a token
  double spread = 0;     // its standard deviation between requests
  double place_wait = 0;
};

// What is asked of a steady state: all of it, or what limits it alone.
enum class Asked { all, limit };

// The fixed point over answers whose token takes token_time(D).
Answers answers_of(const SteadyReplica& replica, const SteadyLoad& load, double cache_places,
                   const std::function<double(double)>& token_time, Asked asked) {
  Answers a;
  const double flow = replica.rate() * replica.steps_of_answer();
  const double own = 1 / static_cast<double>(replica.streams());
  const auto wanted = [&](double d) { return std::max(1.0, own + flow * token_time(d)); };
  const double most = std::floor(std::min(cache_places, replica.sequences()));
  if (most < 1) return a.limit = Limit::cache, a;
  a.decoding = fixed_point(most + own, wanted, asked == Asked::limit);
  if (a.decoding == 0) {
    // Where even all the places that the cache denies would not help, the GPUs are too slow.
    const bool helps = wanted(8 * most) <= 8 * most;
    a.limit = !helps ? Limit::throughput : cache_places < replica.sequences() ? Limit::cache : Limit::sequences;
    return a;
  }
  if (asked == Asked::limit) return a;
  a.token = token_time(a.decoding);
  a.in_flight = flow * a.token;
  // The others' number over a request's own time varies by 2/3 of its mean (M/D/infinity, averaged over one service).
  const double sway = std::sqrt(a.in_flight * 2 / 3 / static_cast<double>(std::max<Count>(1, replica.streams())));
  if (sway > 0.5) a.spread = std::max(0.0, token_time(std::min(most, a.decoding + sway)) - a.token);
  a.place_wait = place_wait(most, a.in_flight, a.token * replica.steps_of_answer(), variation(load.output));
  return a;
}

// What the chain of steps does to the time of a token of an answer over n steps, as shares of it. Requests are more
// where steps were long, since more came in them: a request sees longer steps than the mean by
//   sum over k of cov(T_0, T_k) / (n mean),
// and its own mean over n steps varies by var(T) / n (1 + 2 sum over k of (1 - k / n) correlation_k).
struct Sway {
  double bias = 0, spread = 0;
};
Sway sway_of(const ChainResult& chain, double n) {
  Sway sway;
  if (chain.covariance.empty() || n < 1) return sway;
  double variance = chain.covariance[0];
  for (std::size_t k = 1; k < chain.covariance.size(); ++k) {
    const double share = std::max(0.0, 1 - static_cast<double>(k) / n);
    sway.bias += chain.covariance[k] / (n * chain.step * chain.step);
    variance += 2 * share * chain.covariance[k];
  }
  sway.spread = std::sqrt(std::max(0.0, variance / n)) / chain.step;
  return sway;
}

bool too_long(const SimulationOptions& o, const SteadyLoad& load) {
  const PoolOptions& front = o.prefill ? *o.prefill : o.pool;
  const Count whole = load.input.mean + load.output.mean;
  return (o.context_limit > 0 && whole > o.context_limit) ||
         o.pool.geometry.blocks_for(whole + o.pool.limits.speculation.draft) > o.pool.blocks ||
         front.geometry.blocks_for(load.input.mean + 1) > front.blocks ||
         (!front.limits.chunked_prefill && load.input.mean > front.limits.max_tokens &&
          front.limits.policy != Policy::sglang);
}

SteadyState stopped(Limit limit) {
  SteadyState s;
  s.limit = limit;
  return s;
}

SteadyState together(const SimulationOptions& o, const SteadyLoad& load, double front, Asked asked) {
  const SteadyReplica replica(o.pool, load);
  const double cache_places = replica.places_in_cache(false);
  const auto token_time = [&](double d) {
    const ChainResult chain = replica.prompts(d, false);
    if (!chain.stable) return kInfinite;
    return replica.prompts_alone() ? chain.step / std::max(1e-9, chain.without) : chain.step;
  };
  const Answers answers = answers_of(replica, load, cache_places, token_time, asked);
  if (answers.limit != Limit::none || asked == Asked::limit) return stopped(answers.limit);
  const double d = answers.decoding;
  const auto steps = static_cast<Count>(std::clamp(replica.steps_of_answer(), 1.0, 64.0));
  const ChainResult chain = replica.prompts(d, false, steps);
  if (!chain.stable) return stopped(Limit::throughput);
  const auto fresh = static_cast<double>(load.input.mean - load.cached);
  const double pieces_alone = std::ceil(fresh / std::max(1.0, replica.room(0)));
  const double alone = replica.step(0, fresh / pieces_alone, true) * pieces_alone;
  const double pieces = std::ceil(fresh / std::max(1.0, replica.room(d)));
  const double beside = replica.step(replica.prompts_alone() ? 0 : d, fresh / pieces) * pieces;
  // A plan is made a step ahead of its running; into a pipeline a step enters for each stage of a round.
  double busy = chain.delay;
  if (o.pool.stages > 1) busy -= chain.step / 2 * (1 - 1 / static_cast<double>(o.pool.stages));
  else if (o.pool.host.overlapped) busy += chain.between;
  const double v = variation(load.input);
  busy = std::max(beside, beside + (busy - beside) * (1 + v * v));
  const double idle = std::exp(-answers.in_flight - replica.rate() * chain.delay);
  SteadyState s;
  const double service = front + idle * alone + (1 - idle) * beside;
  const double wait = (1 - idle) * (busy - beside) + answers.place_wait;
  s.ttft = seconds(service + wait), s.ttft_wait = seconds(wait);
  const Sway sway = sway_of(chain, replica.steps_of_answer());
  if (load.output.mean > 1) {
    const double steps_each = replica.steps_of_answer() / static_cast<double>(load.output.mean - 1);
    s.tpot = seconds(answers.token * (1 + sway.bias) * steps_each);
    s.tpot_spread = seconds(std::hypot(answers.spread, sway.spread * answers.token) * steps_each);
  }
  s.decoding = answers.in_flight * static_cast<double>(o.pool.stages);
  s.cache = std::min(1.0, (answers.in_flight + replica.rate() * chain.delay) / cache_places);
  return s;
}

SteadyState apart(const SimulationOptions& o, const SteadyLoad& load, double front, Asked asked) {
  const SteadyReplica prompts(*o.prefill, load), answers_replica(o.pool, load);
  const ChainResult chain = prompts.prompts(0, true);
  if (!chain.stable) return stopped(Limit::throughput);
  const auto fresh = static_cast<double>(load.input.mean - load.cached);
  const double pieces = std::ceil(fresh / std::max(1.0, prompts.room(0)));
  const double alone = prompts.step(0, fresh / pieces) * pieces;
  const KvGeometry& g = o.prefill->geometry;
  const double transfer =
      (o.link.latency + g.block_bytes() * static_cast<double>(g.blocks_for(load.input.mean)) / o.link.bandwidth).base();
  const double link_busy = transfer * load.rate / static_cast<double>(o.prefill->replicas);
  if (link_busy >= 1) return stopped(Limit::link);
  const double cache_places = answers_replica.places_in_cache(true);
  const auto token_time = [&](double d) { return answers_replica.step(d, 0); };
  const Answers answers = answers_of(answers_replica, load, cache_places, token_time, asked);
  if (answers.limit != Limit::none || asked == Asked::limit) return stopped(answers.limit);
  SteadyState s;
  const double v = variation(load.input);
  const double wait = std::max(0.0, chain.delay - alone) * (1 + v * v);
  s.ttft = seconds(front + alone + wait), s.ttft_wait = seconds(wait);
  if (load.output.mean > 1) {
    // The first token comes with the keys and values, which may wait for the link.
    const double moved_wait = transfer * link_busy / (2 * (1 - link_busy));
    s.ttft += seconds(transfer + moved_wait), s.ttft_wait += seconds(moved_wait);
    // Half a step until the next begins, and one more where that was planned already.
    const double join = answers.token * (o.pool.host.overlapped ? 1.5 : 0.5) + answers.place_wait;
    s.tpot =
        seconds((answers.token * answers_replica.steps_of_answer() + join) / static_cast<double>(load.output.mean - 1));
  }
  s.tpot_spread = seconds(answers.spread);
  s.decoding = answers.in_flight * static_cast<double>(o.pool.stages);
  s.cache = std::min(1.0, answers.in_flight / cache_places);
  return s;
}

}  // namespace

double variation(const LengthDistribution& lengths) {
  switch (lengths.kind) {
    case LengthDistribution::Kind::fixed: return 0;
    case LengthDistribution::Kind::uniform: return lengths.spread / std::sqrt(3.0);
    case LengthDistribution::Kind::lognormal: return lengths.spread;
  }
  return 0;
}

double erlang_c(Count servers, double load) {
  const auto n = static_cast<double>(servers);
  if (!(load < n)) return 1;
  double blocked = 1;  // Erlang's B, by its recursion over servers
  for (Count i = 1; i <= servers; ++i) blocked = load * blocked / (static_cast<double>(i) + load * blocked);
  return blocked / (1 - load / n * (1 - blocked));
}

Seconds SteadyState::ttft_at(Statistic statistic) const {
  constexpr double kExponential[] = {1, 0.6931, 2.3026, 4.6052};  // its mean, and -ln(1 - share)
  return ttft + ttft_wait * (kExponential[static_cast<std::size_t>(statistic)] - 1);
}
Seconds SteadyState::tpot_at(Statistic statistic) const {
  constexpr double kNormal[] = {0, 0, 1.2816, 2.3263};
  return tpot + tpot_spread * kNormal[static_cast<std::size_t>(statistic)];
}

namespace {

SteadyState solved(const SimulationOptions& o, const SteadyLoad& load, Asked asked) {
  assert(o.pool.limits.policy != Policy::static_batch);
  if (too_long(o, load)) return stopped(Limit::length);
  const HostTimes& host = o.front().host;
  const double front = front_end(host, load, o.front_ends());
  if (!(front < kInfinite)) return stopped(Limit::front_end);
  SteadyState s = o.prefill ? apart(o, load, front, asked) : together(o, load, front, asked);
  if (!s.saturated() && asked == Asked::all)
    s.ttft += host.per_streaming * (s.decoding * static_cast<double>(o.pool.replicas) / o.front_ends());
  return s;
}

}  // namespace

SteadyState steady_state(const SimulationOptions& o, const SteadyLoad& load) { return solved(o, load, Asked::all); }
Limit steady_limit(const SimulationOptions& o, const SteadyLoad& load) { return solved(o, load, Asked::limit).limit; }

Saturation saturation_of(const SimulationOptions& o, const std::function<SteadyLoad(double)>& load, double near) {
  constexpr double kLeast = 1e-6, kMost = 1e9, kWithin = 1.005;
  Saturation found;
  const auto limit = [&](double rate) {
    const Limit limit = steady_limit(o, load(rate));
    if (limit != Limit::none) found = {rate, limit};
    return limit;
  };
  double holds = near, breaks = near;
  if (limit(near) == Limit::none) do {
      holds = breaks, breaks *= 2;
      if (breaks > kMost) return {};
    } while (limit(breaks) == Limit::none);
  else do {
      breaks = holds, holds /= 2;
      if (holds < kLeast) return {0, found.limit};
    } while (limit(holds) != Limit::none);
  while (breaks > holds * kWithin) {
    const double middle = std::sqrt(holds * breaks);
    (limit(middle) == Limit::none ? holds : breaks) = middle;
  }
  found.rate = breaks;
  return found;
}

}  // namespace tilecast
