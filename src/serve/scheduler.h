// Who runs in the next step: the schedulers of the engines, as their sources have it.
//
// A scheduler keeps requests that wait and requests that run, and makes plans of steps out of them. It does not know
// time. Its books run ahead as the engines' own do: a plan counts its tokens as computed and its answers as given, so
// that the next step can be planned while this one runs (vLLM's async scheduling, SGLang's and TensorRT-LLM's overlap).
// Blocks of requests that end come back when the step has run (finish()).
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/kinds.h"
#include "serve/kv_cache.h"
#include "serve/step_cost.h"
#include "serve/waiting_queue.h"
#include "serve/workload.h"
#include "support/random.h"

namespace tilecast {

// A request on its way.
struct Sequence {
  Count id = 0;
  Request request;
  Count computed = 0;   // tokens whose keys are in the cache, planned steps included
  Count generated = 0;  // tokens of the answer, planned steps included
  Count received = 0;   // tokens whose keys come from another pool: there when it is admitted
  KvHolding kv;
  Count hits = 0;  // tokens of the prompt found in the cache when it was first admitted
  int preemptions = 0;
  Seconds sent, scheduled, first, last;       // when it was sent, first planned, its first and latest token came
  bool started = false, first_given = false;  // `scheduled` and `first` are set
  bool in_flight = false;                     // its next token is being computed (pipelines)
  bool waits = false;                         // it stands in a queue, at `place`
  QueuePlace place;
  bool encoded = false;                       // its images or clips are
  bool gone = false;                          // its client has given up
  std::int32_t replica = -1;                  // that has it; -1: none
  int in_plans = 0;                           // steps that are planned or run and have it
  Seconds entered;                            // when the scheduler got it
  Count chain = 0;                            // its conversation's first request, or itself
  std::span<const PathSegment> path;          // of its beginning, where requests share blocks as a tree has them

  KvKey key() const { return {chain, request.prefix, request.prefix_tokens, path}; }
  // Tokens to compute before the next one can be sampled: one while it decodes.
  Count pending() const { return request.input + generated - computed; }
  bool decodes() const { return generated > 0 && pending() == 1; }
  Count left() const { return request.output - generated; }
  // Images or clips whose keys were not found: all, or those that earlier turns did not have.
  Count to_encode() const {
    const Request& r = request;
    const Count before = r.prefix_tokens + Count{r.media_tokens} / std::max(1, r.media) * (r.media - r.fresh_media);
    if (computed < before) return r.media;
    return r.after < 0 && computed >= r.prefix_tokens + r.media_tokens ? 0 : r.fresh_media;
  }
  // ... as far as the engine knows.
  Count may_be_left() const { return request.longest() - generated; }
};

struct PlannedItem {
  Sequence* sequence = nullptr;
  Count emits = 0;      // tokens of the answer that the step yields; 0: a part of a prompt
  bool ends = false;    // the last of them
  bool prompt = false;  // its tokens are a prompt's
};
struct StepPlan {
  std::vector<PlannedItem> items;
  StepBatch batch;
  KvMoves moves;  // of keys and values, before it can run
  void clear() {
    items.clear();
    batch.prefill.clear();
    batch = StepBatch{std::move(batch.prefill), 0, 1, 0, 0};
  }
};

// Draft tokens that the model checks in the same step: speculative decoding, multi-token prediction.
struct Speculation {
  Count draft = 0;        // tokens a step; 0: none
  double acceptance = 0;  // probability that a draft token is accepted where those before it were
  std::vector<double> by_position = {};  // ... of the first, the second ... in its place; the last holds for the rest
  double acceptance_of(Count position) const {
    if (by_position.empty()) return acceptance;
    return by_position[std::min(static_cast<std::size_t>(position), by_position.size() - 1)];
  }
};

enum class Policy : std::uint8_t { vllm, sglang, trtllm_no_evict, trtllm_max_utilization, static_batch };
inline constexpr std::array<std::string_view, 5> kPolicyNames = {"vllm", "sglang", "trtllm", "trtllm-max-utilization",
                                                                 "static"};
constexpr std::string_view name_of(Policy p) { return kPolicyNames[static_cast<std::size_t>(p)]; }

struct SchedulerLimits {
  Policy policy = Policy::vllm;
  Count max_sequences = 256;    // that run at once
  Count max_tokens = 2048;      // of a step; SGLang: of prompts in a step (max_prefill_tokens)
  Count chunk = 0;              // SGLang: tokens of prompts in a step (chunked_prefill_size); 0: not cut
  bool chunked_prefill = true;  // prompts may be cut at max_tokens (SGLang: at `chunk`)
  bool mixed_chunk = false;     // SGLang: answers run in the prompts' step (enable_mixed_chunk)
  Count receive_steps = 1;      // SGLang: steps of answers between two looks for new requests (scheduler_recv_interval)
  // TensorRT-LLM: prompts wait while answers run, at most so many steps, until they and the answers fill this share of
  // max_tokens (batch_wait_timeout_iters, batch_wait_max_tokens_ratio); 0: never.
  Count wait_steps = 0;
  double wait_share = 0;
  // TensorRT-LLM, replicas that step together: prompts wait until every one of them has some, at most so many steps
  // (attention_dp_config: enable_balance, timeout_iters); 0: never.
  Count balance_steps = 0;
  bool pipelined = false;  // several steps run at once: a request whose token is on its way is in one of them only
  Speculation speculation;
  bool by_priority = false;  // vLLM's --scheduling-policy priority
  Count adapters = 0;        // different LoRA adapters in a step at most (max_loras, max_loras_per_batch); 0: no limit
  std::uint64_t seed = 0;    // of accepted drafts
};

class Scheduler {
 public:
  Scheduler(const SchedulerLimits& limits, KvCache& cache) : limits_(limits), cache_(cache), random_(limits.seed) {}
  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void add(Sequence& sequence) {
    if (limits_.by_priority) enqueue_by_priority(sequence);
    else sequence.place = waiting_.push_back(sequence);
    now_waits(sequence, true);
  }
  // The client has gone. Blocks come back at once, or with the last step that has the request (finish()).
  void cancel(Sequence& sequence);
  // The next step; without items where nothing can run. Where `hold`, nobody who waits is admitted while others run.
  void plan(StepPlan& plan, bool hold = false) {
    plan.clear();
    hold_ = hold && !running_.empty();
    fill(plan);
    plan.moves = cache_.take_moves();
  }
  // A request that ended has run its last step.
  void finish(Sequence& sequence) { cache_.release(sequence.kv, sequence.key(), sequence.computed); }

  std::size_t waiting() const { return waiting_.size(); }
  std::size_t running() const { return running_.size(); }
  virtual bool idle() const { return waiting_.empty() && running_.empty(); }
  const SchedulerLimits& limits() const { return limits_; }

 protected:
  virtual void fill(StepPlan& plan) = 0;

  // Tokens of one request's turn while it decodes.
  Count turn() const { return 1 + limits_.speculation.draft; }
  // Tokens that are there when a waiting request is admitted, and whether blocks for `upto` tokens would be available.
  struct Admission {
    Count there = 0;
    bool fits = false;
  };
  Admission admission(const Sequence& s, Count upto) const;
  // Admits the request: what is cached is its own, and blocks for `upto` tokens. Only after admission() said it fits.
  void admit(Sequence& s, Count upto);
  // Puts `tokens` tokens of a request into the plan and moves its books on. True where it ends with them.
  bool put(StepPlan& plan, Sequence& s, Count tokens);
  // The request loses its blocks and waits again, to compute everything anew.
  void preempt(Sequence& s, bool at_front);
  // A waiting request is admitted, or no longer wanted.
  void leave_queue(Sequence& s) {
    now_waits(s, false);
    waiting_.erase(s.place);
  }
  // A request that neither waits nor runs is no longer wanted.
  virtual void forget(const Sequence&) {}
  void now_waits(Sequence& s, bool waits) {
    s.waits = waits;
    if (limits_.adapters > 0) waiting_for_[s.request.adapter] += waits ? 1 : -1;
  }
  // Whose adapter may join those of the requests that run. Made anew for every step.
  class AdapterRoom {
   public:
    explicit AdapterRoom(const Scheduler& scheduler);
    bool fits(const Sequence& s) const;
    void join(const Sequence& s);
    bool somebody_may() const;  // of those that wait

   private:
    const Scheduler& of_;
    std::vector<std::int32_t> used_;
  };
  // By priority (scheduler_priority.cpp).
  void enqueue_by_priority(Sequence& s);
  Count go_on_by_priority(StepPlan& plan, Count budget);
  Count take_back(StepPlan& plan, Sequence& s);  // out of the plan; returns its tokens
  // Another step computes its next token.
  bool held(const Sequence& s) const { return limits_.pipelined && s.in_flight; }
  // Takes the last request that may be preempted out of `running_`; null where there is none.
  Sequence* take_victim();
  // Removes the requests that ended from `running_`, keeping the order.
  void drop_ended();
  // Preempts from the end until `s` has blocks for `tokens` tokens; false where it had to go itself.
  bool make_room(Sequence& s, Count tokens);
  // Those that run go on in their order, a token or what is left of a prompt each, while the budget of tokens lasts and
  // nobody has to be preempted for himself. Returns what is left of the budget.
  Count go_on(StepPlan& plan, Count budget);

  SchedulerLimits limits_;
  KvCache& cache_;
  WaitingQueue waiting_;
  std::vector<Sequence*> running_;
  bool hold_ = false;  // this step

 private:
  Random random_;
  std::unordered_map<std::int32_t, Count> waiting_for_;  // adapters; -1: none. Kept where adapters are limited
};

std::unique_ptr<Scheduler> make_scheduler(const SchedulerLimits& limits, KvCache& cache);

}  // namespace tilecast
