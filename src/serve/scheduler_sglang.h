// SGLang (python/sglang/srt/managers/scheduler.py, schedule_policy.py and schedule_batch.py; 0.5, read in 2026).
#pragma once

#include "constants/serve.h"
#include "serve/scheduler.h"

namespace tilecast {

// Prompts first: as long as a waiting request fits, a step computes prompts only, and answers wait. A request fits
// where its prompt and its whole answer, and a share of what the running answers may still need, have room. The share
// (new_token_ratio) starts at 0.7, falls with every decode step to 0.098, and rises where memory ran out and requests
// had to be retracted. With enable_mixed_chunk answers do not wait: they run in the prompts' step. With
// scheduler_recv_interval it looks for new requests once in so many steps of answers, and after every step of prompts
// (scheduler_recv_skipper.py).
class SglangScheduler final : public Scheduler {
 public:
  using Scheduler::Scheduler;
  bool idle() const override { return !cut_ && Scheduler::idle(); }

 private:
  void fill(StepPlan& plan) override;
  void forget(const Sequence& s) override {
    if (cut_ == &s) cut_ = nullptr;
  }
  bool looks();  // for new requests, before this step
  void join_received();
  void fill_prompts(StepPlan& plan);
  void fill_decode(StepPlan& plan);
  void mix_running(StepPlan& plan, std::size_t before);  // the first `before` of those that run
  void retract();
  double room() const;  // tokens that are neither taken nor promised

  Sequence* cut_ = nullptr;  // the request whose prompt is computed in chunks: one at a time
  double ratio_ = constants::kInitialRatio;
  Count unlooked_ = 0;         // steps of answers since it looked for new requests
  bool after_prompts_ = true;  // the last step was one of prompts, or none was

  // sglang/srt/environ.py: SGLANG_INIT_NEW_TOKEN_RATIO, SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR,
  // SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS, SGLANG_RETRACT_DECODE_STEPS, SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION.
  static constexpr double kDecay = (constants::kInitialRatio - constants::kLeastRatio) / constants::kRatioDecaySteps;
};

}  // namespace tilecast
