// Nothing that is given is left out of an answer silently: every argument changes what is answered, or is refused.
#include <fmt/format.h>

#include <functional>
#include <set>

#include "api/arguments_testing.h"
#include "tilecast/collective.h"
#include "tilecast/serving.h"
#include "tilecast/step.h"

namespace tilecast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// `harmless`: what may be given without changing this one answer, each for a reason that its user would agree with.
template <class Query>
void expect_used_or_refused(const Query& base, const std::function<Result<std::string>(const Query&)>& ask,
                            const std::set<std::string>& harmless) {
  const auto before = ask(base);
  ASSERT_TRUE(before) << before.error().line();
  Query untouched = base;
  for (std::size_t i = 0; i < arguments_of(untouched).size(); ++i) {
    Query one = base;
    const auto arguments = arguments_of(one);
    const Argument& about = arguments[i].about;
    const std::string was = arguments[i].get();
    const std::string text = about.kind == ArgumentKind::yes_no ? "yes" : about.example;
    if (!arguments[i].set(text) || arguments[i].get() == was || harmless.contains(about.name)) continue;
    const auto after = ask(one);
    if (!after) continue;  // refused
    EXPECT_TRUE(*after != *before) << about.name << " " << text << " changes nothing, and nothing says so";
  }
}

Result<std::string> step_answer(const StepQuery& query) {
  const auto step = forecast(query);
  if (!step) return step.error();
  std::string text = fmt::format("{} {} {} {} {}", step->setting.gpu, step->setting.dtype, in_seconds(step->time),
                                 in_bytes(step->memory.need.total()), step->notes.size());
  for (const StepKernel& kernel : step->kernels)
    text += fmt::format(" {} {} {}", kernel.shape, kernel.times, kernel.dtype);
  if (step->many) text += fmt::format(" {} {}", in_seconds(step->many->exposed), in_seconds(step->many->bubble));
  return text;
}

StepQuery gpt2_query(Mode mode) {
  StepQuery q;
  q.model = "gpt2", q.gpu = "A100-SXM-80GB", q.mode = mode, q.method = Method::analytic;
  if (mode == Mode::decode) q.context = 64;
  else if (mode == Mode::mixed) q.requests = "4x1+64";
  else q.seq = 64;
  return q;
}

TEST(ArgumentsUsed, StepsOfOneGpu) {
  for (const Mode mode : {Mode::prefill, Mode::decode, Mode::mixed, Mode::train})
    for (const EngineKind engine : {EngineKind::pytorch, EngineKind::vllm}) {
      if (mode == Mode::train && engine == EngineKind::vllm) continue;
      SCOPED_TRACE(fmt::format("{} under {}", name_of(mode), name_of(engine)));
      StepQuery q = gpt2_query(mode);
      q.engine = engine;
      // The head runs on the one new token of a request as it is; GPT-2 has neither rotations nor RMSNorms, gates or
      // groups of heads to merge, and an A100's default attention is FlashAttention 2 already.
      std::set<std::string> harmless = {"fp32-rotation", "merged-projections", "era", "torch"};
      if (mode == Mode::decode || mode == Mode::mixed) harmless.insert("all-logits");
      if (mode == Mode::mixed) harmless.insert("mode");  // requests of one token each are a decode
      if (mode == Mode::train) harmless.insert({"all-logits", "static-cache"});
      if (mode == Mode::prefill) harmless.insert("static-cache");
      expect_used_or_refused<StepQuery>(q, step_answer, harmless);
    }
}

TEST(ArgumentsUsed, StepsOfManyGpus) {
  for (const Mode mode : {Mode::prefill, Mode::decode, Mode::train}) {
    SCOPED_TRACE(name_of(mode));
    StepQuery q = gpt2_query(mode);
    q.gpu = "", q.cluster = "hgx-a100", q.layout.tp = 2, q.layout.dp = 2, q.batch = 8;
    if (mode == Mode::train) q.engine = EngineKind::pytorch;
    expect_used_or_refused<StepQuery>(
        q, step_answer,
        {"fp32-rotation", "merged-projections", "era", "torch", "all-logits", "static-cache", "expert-tp", "gpu", "list-tasks"});
  }
}

TEST(ArgumentsUsed, FlagsOfAnotherModeAreRefusedWithTheModeAndARemedy) {
  StepQuery q = gpt2_query(Mode::decode);
  q.seq = 128;
  EXPECT_THAT(line_of(forecast(q)), AllOf(StartsWith("seq: has no effect with mode decode"), HasSubstr("context")));
  q.seq = 0, q.micro_batch = 1;
  EXPECT_THAT(line_of(forecast(q)), StartsWith("micro-batch: has no effect on one GPU"));
  q.cluster = "hgx-a100", q.gpu = "";
  EXPECT_THAT(line_of(forecast(q)),
              AllOf(StartsWith("micro-batch: has no effect with mode decode"), HasSubstr("it is for mode train")));
  q = gpt2_query(Mode::prefill), q.attention = AttentionForm::eager;
  EXPECT_THAT(line_of(forecast(q)), StartsWith("attention: has no effect with engine vllm"));
  q = gpt2_query(Mode::prefill), q.routing = "power:1.2";
  EXPECT_THAT(line_of(forecast(q)), StartsWith("routing: has no effect: the model has no experts"));
  q = gpt2_query(Mode::prefill), q.cluster = "hgx-h100";
  EXPECT_THAT(line_of(forecast(q)), StartsWith("gpu: A100-SXM-80GB is not the GPU of the cluster"));
  q = gpt2_query(Mode::prefill), q.layout.schedule = PipelineSchedule::gpipe;
  EXPECT_THAT(line_of(forecast(q)), StartsWith("schedule: has no effect without pp"));
}

Result<std::string> simulated(const SimulateQuery& query) {
  const auto run = simulate(query);
  if (!run) return run.error();
  const ServingMetrics& m = run->loads.front().metrics;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", run->gpu, run->dtype, run->layout, run->replicas,
                     run->blocks, run->max_sequences, run->step_tokens, run->loads.size(), m.ttft.mean, m.tpot.mean,
                     m.e2el.p99, m.goodput.value_or(-1), run->loads.front().fast.has_value());
}

TEST(ArgumentsUsed, Simulations) {
  for (const ServingEngine engine : {ServingEngine::vllm, ServingEngine::sglang, ServingEngine::trtllm}) {
    SCOPED_TRACE(name_of(engine));
    SimulateQuery q;
    q.model = "gpt2", q.gpu = "A100-SXM-80GB", q.engine = engine, q.num_prompts = 40, q.method = Method::analytic;
    q.load.rate = 200, q.load.input = "300", q.load.output = "20", q.load.seed = 3, q.concurrency = 32;
    // Limits that so small a load does not reach, engines' own defaults, and prefixes that it does not share.
    expect_used_or_refused<SimulateQuery>(q, simulated,
                                          {"max-num-seqs",
                                           "max-num-batched-tokens",
                                           "chunked-prefill-size",
                                           "max-model-len",
                                           "no-prefix-caching",
                                           "no-chunked-prefill",
                                           "chunked-prefill",
                                           "max-cudagraph-capture-size",
                                           "concurrency",
                                           "prefixes",
                                           "cluster",
                                           "block-size",
                                           "enable-mixed-chunk",
                                           "scheduler-recv-interval",
                                           "gpu-memory-utilization",
                                           "ttft-timeout",
                                           "timeout",
                                           "max-tokens",
                                           "scheduling-policy",
                                           "autoscale",
                                           "offload-host",
                                           "offload-disk",
                                           "offload-load",
                                           "list-steps"});
  }
}

TEST(ArgumentsUsed, SimulationsRefuseWhatAnotherFlagReplaces) {
  SimulateQuery q;
  q.model = "gpt2", q.gpu = "A100-SXM-80GB", q.num_prompts = 4, q.method = Method::analytic;
  const auto line = [&](auto&& change) {
    SimulateQuery one = q;
    change(one);
    return line_of(simulate(one));
  };
  EXPECT_THAT(line([](auto& s) { s.chunk = 512; }),
              AllOf(StartsWith("chunked-prefill-size: has no effect with engine vllm"), HasSubstr("engine sglang")));
  EXPECT_THAT(line([](auto& s) { s.drafts.acceptance = 0.5; }), StartsWith("acceptance: has no effect without draft"));
  EXPECT_THAT(line([](auto& s) { s.prefill_tp = 2; }),
              StartsWith("prefill-tp: has no effect without prefill-replicas"));
  EXPECT_THAT(line([](auto& s) { s.burstiness = 0.5; }), StartsWith("burstiness: has no effect where all requests"));
  EXPECT_THAT(line([](auto& s) { s.router = Router::least_loaded; }),
              StartsWith("router: has no effect with one replica"));
  EXPECT_THAT(line([](auto& s) { s.load.rate = 1, s.sweep = "rate=1,2"; }),
              StartsWith("rate: has no effect beside a sweep"));
  EXPECT_THAT(line([](auto& s) { s.list_steps = 10, s.sweep = "rate=1,2"; }),
              StartsWith("list-steps: has no effect in a sweep"));
  EXPECT_THAT(line([](auto& s) { s.list_from = 1; }), StartsWith("list-from: has no effect without list-steps"));
  EXPECT_THAT(line([](auto& s) { s.gpu = ""; }), StartsWith("gpu: is missing (for example H100-SXM)"));
}

TEST(ArgumentsUsed, Collectives) {
  CollectiveQuery q;
  q.op = "all_reduce", q.cluster = "hgx-h100-8", q.bytes = mebibytes(1);
  EXPECT_TRUE(forecast(q));
  q.hidden = 4096;
  EXPECT_THAT(line_of(forecast(q)),
              StartsWith("hidden: has no effect with op all_reduce (it is for op dispatch, combine"));
  q = {}, q.op = "dispatch", q.cluster = "hgx-h100-8", q.tokens = 128, q.library = "deepep-ll", q.sms = 24;
  EXPECT_THAT(line_of(forecast(q)), StartsWith("sms: has no effect with library deepep-ll"));
}

}  // namespace
}  // namespace tilecast
