// What tests of the simulator share: a plain cost, pools and requests, and the laws that every run keeps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "serve/simulator.h"
#include "support/random.h"

namespace tilecast {

// A step takes 1 ms, a microsecond a token, and a nanosecond a cached token.
class PlainCost final : public StepCost {
 public:
  Seconds of(const StepBatch& b) const override {
    Count cached = b.decode_context;
    for (const PrefillChunk& c : b.prefill) cached += c.cached;
    return milliseconds(1) + microseconds(1) * static_cast<double>(b.tokens()) +
           nanoseconds(1) * static_cast<double>(cached);
  }
};
inline const PlainCost kCost;

inline PoolOptions pool_of(Policy policy, Count blocks) {
  PoolOptions pool;
  pool.limits.policy = policy;
  pool.limits.max_sequences = 16;
  pool.limits.max_tokens = 256;
  pool.limits.chunk = 128;
  pool.cost = &kCost;
  pool.geometry = {policy == Policy::sglang ? 1 : 16, {{100, 0}}, 0};
  pool.blocks = policy == Policy::sglang ? blocks * 16 : blocks;
  pool.reuse = policy != Policy::static_batch;
  return pool;  // no host times: overlapped, nothing between
}

inline std::vector<Request> random_requests(Random& random, Count count, Count most) {
  std::vector<Request> requests;
  double arrival = 0;
  for (Count i = 0; i < count; ++i) {
    Request r;
    arrival += random.exponential() * 0.002;
    r.arrival = seconds(arrival);
    r.input = 1 + static_cast<Count>(random.below(static_cast<std::uint64_t>(most)));
    r.output = 1 + static_cast<Count>(random.below(60));
    if (random.uniform() < 0.5) {
      r.prefix = static_cast<Count>(random.below(3));
      r.prefix_tokens = std::min<Count>(r.input, 64);
    }
    requests.push_back(r);
  }
  return requests;
}

// What was asked of a run, and what its steps say they did.
struct Tally {
  Count input = 0, after_first = 0, hits = 0, preemptions = 0;  // of requests that were served
  Count prompt_tokens = 0, decodes = 0;                         // of all steps
};

inline Tally tally_of(const ServingOutcome& out) {
  Tally t;
  for (const RequestRecord& r : out.requests) {
    if (r.refused) continue;
    t.input += r.input, t.after_first += r.output - 1, t.hits += r.hits, t.preemptions += r.preemptions;
  }
  for (const StepRecord& s : out.steps) t.prompt_tokens += s.prompt_tokens, t.decodes += s.decodes;
  return t;
}

inline void expect_requests_end_once(const std::vector<Request>& requests, const ServingOutcome& out) {
  ASSERT_EQ(out.requests.size(), requests.size());
  EXPECT_EQ(out.unfinished, 0);
  Count refused = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RequestRecord& r = out.requests[i];
    EXPECT_EQ(r.input, requests[i].input);
    EXPECT_EQ(r.output, requests[i].output);
    refused += r.refused;
    if (r.refused) continue;
    EXPECT_GE(r.sent, requests[i].arrival);
    EXPECT_GE(r.scheduled, r.sent);
    EXPECT_GT(r.first, r.scheduled);
    EXPECT_GE(r.last, r.first);
    EXPECT_EQ(r.output == 1, r.last == r.first) << i;
    EXPECT_LE(r.last, out.end);
    EXPECT_LE(r.hits, r.input - 1);
  }
  EXPECT_EQ(out.refusals, refused);
}

// What goes in comes out: prompts are computed once, but for what is found in the cache, and once more where a request
// was preempted; each token after the first is a decode of its own, but for accepted drafts.
inline void expect_tokens_conserved(const SimulationOptions& o, const std::vector<Request>& requests,
                                    const ServingOutcome& out) {
  const Tally t = tally_of(out);
  const Count gaps = out.gap_count;
  EXPECT_EQ(static_cast<Count>(out.gaps.size()), gaps);
  const Count draft = o.pool.limits.speculation.draft;
  if (draft == 0) {
    EXPECT_EQ(gaps, t.after_first);
  } else {
    EXPECT_LE(gaps, t.after_first);
    EXPECT_GE(gaps * (draft + 1), t.after_first);
  }
  if (t.preemptions == 0) {
    EXPECT_EQ(t.prompt_tokens, t.input - t.hits);
    if (o.pool.limits.policy == Policy::static_batch) {
      EXPECT_GE(t.decodes, gaps);  // requests that ended stay in their batch
    } else {
      EXPECT_EQ(t.decodes, gaps);
    }
  } else {
    // A step that computes a preempted request again gives its next token too. Of a request cut off within the prefix it
    // shares, all that was computed may be found again.
    EXPECT_GE(t.prompt_tokens, t.input - t.hits);
    for (std::size_t i = 0; i < requests.size(); ++i)
      if (out.requests[i].preemptions > 0 && requests[i].prefix < 0) {
        EXPECT_GT(t.prompt_tokens, t.input - t.hits);
        break;
      }
    EXPECT_GE(t.decodes + t.preemptions, gaps);
    EXPECT_LE(t.decodes, gaps);
  }
}

inline void expect_within_limits(const SimulationOptions& o, const ServingOutcome& out) {
  EXPECT_EQ(out.blocks_left, 0);
  EXPECT_LE(out.most_blocks, o.pool.blocks);
  std::map<int, Seconds> ends;
  for (const StepRecord& s : out.steps) {
    const PoolOptions& pool = s.replica < o.pool.replicas ? o.pool : *o.prefill;
    EXPECT_GT(s.end, s.start);
    EXPECT_LE(s.cache, 1.0f);
    EXPECT_GT(s.running, 0);
    EXPECT_LE(s.running, pool.limits.max_sequences);
    const Count turn = 1 + pool.limits.speculation.draft;
    const bool whole = pool.limits.policy == Policy::static_batch;  // its prompts are one step
    if (!whole && pool.limits.chunked_prefill) {
      EXPECT_LE(s.prompt_tokens, pool.limits.policy == Policy::sglang ? pool.limits.chunk : pool.limits.max_tokens);
    }
    if (pool.limits.policy == Policy::vllm) {
      EXPECT_LE(s.prompt_tokens + s.decodes * turn, pool.limits.max_tokens + turn - 1);
    }
    // One step at a time, but in a pipeline, where they end in order.
    if (ends.count(s.replica)) {
      EXPECT_GE(pool.stages > 1 ? s.end : s.start, ends[s.replica]);
    }
    ends[s.replica] = s.end;
  }
}

// Every request ends once, with all its tokens, in order of time; blocks never pass the cache and all come back.
inline void expect_conserved(const std::vector<Request>& requests, const SimulationOptions& o,
                             const ServingOutcome& out) {
  expect_requests_end_once(requests, out);
  expect_tokens_conserved(o, requests, out);
  expect_within_limits(o, out);
}

// sent = done + cancelled + refused; what was not sent followed one that was not answered.
inline void expect_accounted(const std::vector<Request>& requests, const SimulationOptions& o,
                             const ServingOutcome& out) {
  ASSERT_EQ(out.requests.size(), requests.size());
  EXPECT_EQ(out.unfinished, 0);
  EXPECT_EQ(out.blocks_left, 0);
  EXPECT_LE(out.most_blocks, o.pool.blocks);
  Count refused = 0, cancelled = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RequestRecord& r = out.requests[i];
    EXPECT_LE(r.refused + r.cancelled + r.unsent, 1) << i;
    refused += r.refused, cancelled += r.cancelled;
    if (r.served()) {
      EXPECT_EQ(r.given, requests[i].output) << i;
      EXPECT_GE(r.last, r.first);
      EXPECT_GT(r.first, r.sent);
    } else {
      EXPECT_LT(r.given, requests[i].output) << i;
    }
    if (requests[i].after < 0) {
      EXPECT_FALSE(r.unsent) << i;
      continue;
    }
    const RequestRecord& before = out.requests[static_cast<std::size_t>(requests[i].after)];
    EXPECT_EQ(r.unsent, !before.served()) << i;
    if (!r.unsent) {
      EXPECT_GE(r.sent + nanoseconds(1), before.last + requests[i].pause) << i;
    }
  }
  EXPECT_EQ(out.refusals, refused);
  EXPECT_EQ(out.cancellations, cancelled);
}

inline void expect_same(const ServingOutcome& a, const ServingOutcome& b) {
  ASSERT_EQ(a.requests.size(), b.requests.size());
  EXPECT_EQ(a.gaps, b.gaps);
  EXPECT_EQ(a.steps.size(), b.steps.size());
  EXPECT_EQ(a.end.base(), b.end.base());
  for (std::size_t i = 0; i < a.requests.size(); ++i) {
    EXPECT_EQ(a.requests[i].sent.base(), b.requests[i].sent.base()) << i;
    EXPECT_EQ(a.requests[i].first.base(), b.requests[i].first.base()) << i;
    EXPECT_EQ(a.requests[i].last.base(), b.requests[i].last.base()) << i;
  }
}

inline constexpr Policy kPolicies[] = {Policy::vllm, Policy::sglang, Policy::trtllm_no_evict,
                                       Policy::trtllm_max_utilization, Policy::static_batch};

}  // namespace tilecast
