#include "serve/step_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "kernel/quantize.h"
#include "kernel/rmsnorm.h"
#include "kernel/scan.h"
#include "model/library.h"
#include "serve/rank_cost.h"
#include "support/random.h"

namespace tilecast {
namespace {

struct Case {
  const char *model, *gpu;
  EngineKind engine;
};

EngineOptions options_of(EngineKind kind) {
  EngineOptions options;
  options.kind = kind;
  options.precision = *precision_from("bf16");
  return options;
}

// The same step forecast whole, each request with its own length.
double direct(const Case& c, const StepBatch& batch, const std::vector<Count>& contexts) {
  tilecast::Run run{*find_model(c.model), {}, options_of(c.engine), {}};
  run.workload.mode = batch.prefill.empty() ? Mode::decode : contexts.empty() ? Mode::prefill : Mode::mixed;
  for (const PrefillChunk& chunk : batch.prefill) run.workload.requests.push_back({1, chunk.fresh, chunk.cached});
  for (const Count context : contexts) run.workload.requests.push_back({1, 1, context});
  auto prepared = prepare(run);
  as_served(prepared->program, c.engine, find_gpu(c.gpu)->architecture, 1);
  return forecast_step(prepared->program, *find_gpu(c.gpu), run.workload.sequences(), Method::tilecast,
                       &shipped_models())
      ->gpu.base();
}

struct Errors {
  std::vector<double> of;
  void add(double table, double whole) { of.push_back(std::abs(table / whole - 1)); }
  double mean() const {
    double sum = 0;
    for (double e : of) sum += e;
    return sum / static_cast<double>(of.size());
  }
  double p90() {
    std::sort(of.begin(), of.end());
    return of[of.size() * 9 / 10];
  }
};

// Mean of the absolute errors at most one or two percent; requests of one step have equal contexts here, since the
// table knows their mean only.
TEST(ServeStepCost, TableIsTheForecastOfTheWholeStep) {
  for (const Case& c : {Case{"Llama-3.1-8B", "H100-SXM", EngineKind::vllm},
                        {"Llama-3.1-8B", "RTX-4090", EngineKind::vllm},
                        {"Qwen3-30B-A3B", "A100-SXM-80GB", EngineKind::sglang},
                        {"DeepSeek-V2-Lite", "H200-SXM", EngineKind::vllm}}) {
    StepPricer pricer =
        price_on(*find_model(c.model), options_of(c.engine), *find_gpu(c.gpu), Method::tilecast, &shipped_models());
    pricer.one_attention_kernel = false;  // forecasts of a step have a kernel for each kind
    const auto table = StepTable::make(std::move(pricer), 0);
    ASSERT_TRUE(table) << table.error().line();
    Random random(7);
    Errors decode, prefill, mixed;
    for (int i = 0; i < 60; ++i) {
      StepBatch batch;
      std::vector<Count> contexts;
      const int kind = i % 3;
      if (kind != 1) {
        batch.decodes = static_cast<Count>(std::exp2(random.uniform() * 8));
        const double mean = 200 + random.uniform() * 3000;
        for (Count k = 0; k < batch.decodes; ++k) contexts.push_back(static_cast<Count>(mean));
        for (Count k : contexts) batch.decode_context += k;
      }
      if (kind != 0) {
        const int chunks = 1 + static_cast<int>(random.below(4));
        for (int k = 0; k < chunks; ++k)
          batch.prefill.push_back(
              {2 + static_cast<Count>(random.below(2000)), k == 0 ? static_cast<Count>(random.below(3000)) : 0});
      }
      (kind == 0 ? decode : kind == 1 ? prefill : mixed).add((*table)->of(batch).base(), direct(c, batch, contexts));
    }
    // Mixtures of experts have more stairs than the grid has points.
    const double most = std::string(c.model).starts_with("Llama") ? 0.012 : 0.017;
    for (Errors* e : {&decode, &prefill, &mixed}) {
      EXPECT_LT(e->mean(), most) << c.model << " " << c.gpu;
      EXPECT_LT(e->p90(), 5 * most) << c.model << " " << c.gpu;
    }
    EXPECT_TRUE((*table)->status());
    EXPECT_LT((*table)->priced(), 1000);
  }
}

TEST(ServeStepCost, MoreTokensTakeLonger) {
  const auto table = StepTable::make(price_on(*find_model("Llama-3.1-8B"), options_of(EngineKind::vllm),
                                              *find_gpu("H100-SXM"), Method::analytic, nullptr),
                                     0);
  ASSERT_TRUE(table);
  const auto time = [&](StepBatch b) { return (*table)->of(b).base(); };
  StepBatch decode;
  decode.decodes = 10;
  decode.decode_context = 10 * 1000;
  StepBatch longer = decode, more = decode, mixed = decode;
  longer.decode_context *= 4;
  more.decodes *= 8, more.decode_context *= 8;
  mixed.prefill = {{512, 0}};
  EXPECT_GT(time(longer), time(decode));
  EXPECT_GT(time(more), time(decode));
  EXPECT_GT(time(mixed), time(decode));
  StepBatch prefix = mixed;
  prefix.prefill = {{512, 8192}};
  EXPECT_GT(time(prefix), time(mixed));
  EXPECT_EQ(time({}), 0);
}

// FlashAttention 2 under vLLM: decodes beside prompts read the keys once for every query head.
TEST(ServeStepCost, MixedStepsOfOneKernelTakeLonger) {
  const auto times = [](const char* gpu, bool mixed) {
    StepBatch batch;
    batch.decodes = 64, batch.decode_context = 64 * 4000;
    if (mixed) batch.prefill = {{1024, 0}};
    double of[2];
    for (const bool one : {false, true}) {
      StepPricer pricer = price_on(*find_model("Qwen3-14B"), options_of(EngineKind::vllm), *find_gpu(gpu),
                                   Method::tilecast, &shipped_models());
      EXPECT_EQ(pricer.one_attention_kernel, !std::string(gpu).starts_with("H100"));
      pricer.one_attention_kernel = one && pricer.one_attention_kernel;
      of[one] = (*StepTable::make(std::move(pricer), 0))->of(batch).base();
    }
    return of[1] / of[0];
  };
  EXPECT_GT(times("A100-SXM-80GB", true), 1.2);
  EXPECT_LE(times("L40S", true), 1.25);
  EXPECT_DOUBLE_EQ(times("A100-SXM-80GB", false), 1);
  EXPECT_DOUBLE_EQ(times("H100-SXM", true), 1);
}

TEST(ServeStepCost, LearnedPositionsEnd) {
  const auto table = StepTable::make(price_on(*find_model("OPT-1.3B"), options_of(EngineKind::vllm),
                                              *find_gpu("A100-SXM-80GB"), Method::analytic, nullptr),
                                     2048);
  ASSERT_TRUE(table);
  StepBatch batch;
  batch.prefill = {{2000, 0}, {2047, 0}, {1500, 0}, {1024, 1000}};
  batch.decodes = 3, batch.decode_context = 3 * 2040;
  EXPECT_GT((*table)->of(batch).base(), 0);
  EXPECT_TRUE((*table)->status()) << (*table)->status().error().line();
}

Count norms_after_sums(EngineKind engine, const char* gpu, int ranks, Count tokens) {
  tilecast::Run run{*find_model("Llama-3.1-70B"), {Mode::prefill, {{1, tokens, 0}}}, options_of(engine), {}};
  auto prepared = prepare(run);
  as_served(prepared->program, engine, find_gpu(gpu)->architecture, ranks);
  Count norms = 0;
  for (const KernelCall& call : prepared->program.calls)
    if (const auto* norm = call.kernel.shape.get_if<RmsNorm>()) norms += norm->residual ? call.times : 0;
  return norms;
}

// 160 norms follow a sum; a token of the hidden state has 16 KiB.
TEST(AsServed, NormsAreFusedWithSumsOfFewTokens) {
  EXPECT_EQ(norms_after_sums(EngineKind::vllm, "H100-SXM", 1, 16), 160);
  EXPECT_EQ(norms_after_sums(EngineKind::vllm, "H100-SXM", 8, 64), 0);  // 1 MiB
  EXPECT_EQ(norms_after_sums(EngineKind::vllm, "H100-SXM", 8, 65), 160);
  EXPECT_EQ(norms_after_sums(EngineKind::vllm, "H100-SXM", 4, 129), 160);  // 2 MiB on Hopper, 32 on Blackwell
  EXPECT_EQ(norms_after_sums(EngineKind::vllm, "B200", 4, 129), 0);
  EXPECT_EQ(norms_after_sums(EngineKind::vllm, "A100-SXM-80GB", 8, 1), 160);
  EXPECT_EQ(norms_after_sums(EngineKind::trtllm, "A100-SXM-80GB", 8, 488), 0);  // 8 MB
  EXPECT_EQ(norms_after_sums(EngineKind::trtllm, "A100-SXM-80GB", 8, 489), 160);
  EXPECT_EQ(norms_after_sums(EngineKind::sglang, "H100-SXM", 8, 2048), 0);
  EXPECT_EQ(norms_after_sums(EngineKind::sglang, "H100-SXM", 8, 2049), 160);
}

// Proposed tokens are checked with a state kept after each: as much traffic as so many requests have.
TEST(AsServed, StatesAreKeptForEveryProposedToken) {
  const auto scans = [](Count requests, Count tokens) {
    tilecast::Run run{
        *find_model("Qwen3.5-397B-A17B"), {Mode::decode, {{requests, tokens, 99}}}, options_of(EngineKind::sglang), {}};
    const auto prepared = prepare(run);
    Count batch = 0;
    for (const KernelCall& call : prepared->program.calls)
      if (const auto* scan = call.kernel.shape.get_if<Scan>()) batch = scan->batch * scan->seq_len;
    return batch;
  };
  EXPECT_EQ(scans(8, 1), 8);
  EXPECT_EQ(scans(8, 4), 32);
}

// TensorRT-LLM's gated activation writes no fp4; norms and attention do, and vLLM's own kernels.
TEST(AsServed, FourBitInputsAfterAGateAreQuantisedApart) {
  const auto count = [](EngineKind engine, const char* dtype) {
    EngineOptions options = options_of(engine);
    options.precision = *precision_from(dtype);
    tilecast::Run run{*find_model("Llama-3.1-70B"), {Mode::decode, {{8, 1, 99}}}, options, {}};
    auto prepared = prepare(run);
    as_served(prepared->program, engine, Architecture::blackwell, 1);
    Count times = 0;
    for (std::size_t i = 0; i < prepared->program.calls.size(); ++i) {
      const KernelCall& call = prepared->program.calls[i];
      if (!call.kernel.shape.is<Quantize>()) continue;
      times += call.times;
      EXPECT_EQ(call.kernel.shape.as<Quantize>().cols, 28672);
      EXPECT_EQ(prepared->program.calls[i + 1].name, "mlp.down");
    }
    return times;
  };
  EXPECT_EQ(count(EngineKind::trtllm, "nvfp4"), 80);
  EXPECT_EQ(count(EngineKind::trtllm, "fp8_static"), 0);
  EXPECT_EQ(count(EngineKind::vllm, "nvfp4"), 0);
}

// Models by what engines can fuse in them: SGLang fuses where it lists the model, no engine norms of weights plus one.
TEST(AsServed, SumsAreFusedWhereTheEngineKnowsTheModel) {
  const auto fused = [](const char* model, EngineKind engine) { return fuses_sums(*find_model(model), engine); };
  for (const char* listed : {"DeepSeek-R1", "gpt-oss-120b", "GLM-4.6", "Qwen3-235B-A22B", "Kimi-K2.5"})
    EXPECT_TRUE(fused(listed, EngineKind::sglang)) << listed;
  for (const char* other : {"Llama-3.1-70B", "Qwen3-32B", "GLM-5", "MiniMax-M2.5", "Qwen3.5-397B-A17B"})
    EXPECT_FALSE(fused(other, EngineKind::sglang)) << other;
  EXPECT_TRUE(fused("Llama-3.1-70B", EngineKind::trtllm));
  EXPECT_TRUE(fused("MiniMax-M2.5", EngineKind::trtllm));
  EXPECT_FALSE(fused("Qwen3.5-397B-A17B", EngineKind::trtllm));
  EXPECT_FALSE(fused("Gemma-3-27B", EngineKind::trtllm));
  EXPECT_FALSE(fused("Llama-3.1-70B", EngineKind::vllm));
}

// Over four H200s a step of eight answers has the norms of its 60 layers, two each, beside its sums, unless the engine
// was told to fuse them.
TEST(AsServed, NormsThatAreNotFusedAreKernels) {
  const auto norms = [](std::optional<bool> told) {
    EngineOptions engine = options_of(EngineKind::sglang);
    engine.fused_sums = told;
    const RankSpread spread{RankLayout{.tp = 8, .expert_tp = 8}, *built_in_cluster_of("H200-SXM")};
    const StepPricer pricer = price_over(*find_model("Qwen3.5-397B-A17B"), engine, spread, Method::roofline, nullptr);
    const auto calls = pricer.calls({Mode::decode, {{8, 1, 1024}}}, {});
    EXPECT_TRUE(calls);
    Count norms = 0;
    for (const CallTime& call : *calls) norms += call.role == Role::block_norm ? 1 : 0;
    return norms;
  };
  EXPECT_EQ(norms(std::nullopt), norms(false));
  EXPECT_EQ(norms(true), 0);
  EXPECT_EQ(norms(false), 4);  // two kinds of layers, two norms each
}

// MiniMax M2's norms go over all heads of queries and keys, which ranks share: a third sum a layer. Qwen 3's are each
// of a head.
TEST(AsServed, NormsOverAllHeadsAskForASumMore) {
  const auto sums = [](const char* model, int tp) {
    const RankSpread spread{RankLayout{.tp = tp, .expert_tp = tp}, *built_in_cluster_of("H200-SXM")};
    const StepPricer pricer =
        price_over(*find_model(model), options_of(EngineKind::vllm), spread, Method::roofline, nullptr);
    const auto calls = pricer.calls({Mode::decode, {{8, 1, 1024}}}, {});
    EXPECT_TRUE(calls);
    Seconds norm, block;
    for (const CallTime& call : *calls) {
      if (call.name == "query and key norm sum") norm += call.cool;
      if (call.name == "attention sum") block += call.cool;
    }
    return std::pair(norm.base(), block.base());
  };
  const auto [norm, block] = sums("MiniMax-M2.5", 4);
  EXPECT_GT(norm, 0.3 * block);  // 64 bytes and 48 KiB: next to nothing but the start
  EXPECT_LT(norm, block);
  EXPECT_EQ(sums("MiniMax-M2.5", 1).first, 0);
  EXPECT_EQ(sums("Qwen3-235B-A22B", 4).first, 0);
}

// gpt-oss: every other layer sees 128 keys only. A100 has no measured window.
TEST(ForecastStep, AWindowDoesNotMakeDecodingLonger) {
  tilecast::Run run{*find_model("gpt-oss-20b"), {Mode::decode, {{256, 1, 400}}}, options_of(EngineKind::vllm), {}};
  const auto prepared = prepare(run);
  ASSERT_TRUE(prepared);
  const auto step =
      forecast_step(prepared->program, *find_gpu("A100-SXM-80GB"), 256, Method::tilecast, &shipped_models());
  ASSERT_TRUE(step) << step.error().line();
  Seconds windowed, whole;
  for (std::size_t i = 0; i < step->calls.size(); ++i)
    if (const auto* decode = prepared->program.calls[i].kernel.shape.get_if<AttentionDecode>())
      (decode->window > 0 ? windowed : whole) = step->calls[i].unheated;
  ASSERT_GT(windowed, seconds(0));
  EXPECT_LE(windowed.base(), whole.base() * 1.2501);
}

// What is asked for part by part adds up to what is asked for at once, and what is not asked for has no time.
TEST(ServeStepCost, PartsOfAStepAreItsSum) {
  const StepPricer pricer = price_on(*find_model("gpt-oss-20b"), options_of(EngineKind::vllm), *find_gpu("H100-SXM"),
                                     Method::tilecast, &shipped_models());
  Workload w;
  w.mode = Mode::decode;
  w.requests = {{8, 1, 700}};
  const auto sum_of = [&](const CallWanted& wanted) {
    double sum = 0;
    const auto calls = pricer.calls(w, wanted);
    for (const CallTime& c : *calls) {
      sum += c.cool.base();
      EXPECT_TRUE(!wanted || wanted(c) || c.cool == seconds(0)) << c.name;
    }
    return sum;
  };
  const double all = sum_of({});
  const CallWanted attention = [](const CallTime& c) { return c.op_class == OpClass::attention; };
  const CallWanted rest = [&](const CallTime& c) { return !attention(c); };
  EXPECT_GT(sum_of(attention), 0);
  EXPECT_NEAR(sum_of(attention) + sum_of(rest), all, all * 1e-12);
  EXPECT_EQ(sum_of([](const CallTime&) { return false; }), 0);
}

// Pricers that share what kernels cost answer as pricers of their own do: whole steps and other formats, layouts and
// engines before them change nothing, to the last digit. The learned time asked for alone is the one asked for with
// all.
TEST(ServeStepCost, KernelsKnownFromOtherStepsCostTheSame) {
  const auto known = std::make_shared<KnownCosts>();
  Workload decode, prompt;
  decode.mode = Mode::decode, decode.requests = {{8, 1, 700}};
  prompt.mode = Mode::prefill, prompt.requests = {{2, 300, 64}};
  for (const char* model : {"gpt-oss-20b", "DeepSeek-V2-Lite", "Llama-3.1-8B"})
    for (const char* gpu : {"H100-SXM"})
      for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang})
        for (const char* cache : {"", "fp8"}) {
          EngineOptions options = options_of(engine);
          options.precision = *precision_from("bf16", cache);
          const auto priced = [&](const std::shared_ptr<KnownCosts>& memory) {
            return price_on(*find_model(model), options, *find_gpu(gpu), Method::tilecast, &shipped_models(), {},
                            memory);
          };
          for (const Workload& w : {decode, prompt, decode}) {
            const auto own = priced(nullptr).calls(w, {}), shared = priced(known).calls(w, {});
            ASSERT_TRUE(own && shared);
            double sum = 0;
            for (std::size_t i = 0; i < own->size(); ++i) {
              EXPECT_EQ((*own)[i].cool.base(), (*shared)[i].cool.base()) << model << " " << (*own)[i].name;
              EXPECT_EQ((*own)[i].clock, (*shared)[i].clock) << model << " " << (*own)[i].name;
              sum += (*own)[i].cool.base();
            }
            tilecast::Run run{*find_model(model), w, options, {}};
            auto whole = prepare(run);
            as_served(whole->program, engine, find_gpu(gpu)->architecture, 1);
            const auto step =
                forecast_step(whole->program, *find_gpu(gpu), w.sequences(), Method::tilecast, &shipped_models());
            double all = 0;
            for (std::size_t i = 0; i < step->calls.size(); ++i)
              all += step->calls[i].unheated.base() * static_cast<double>(whole->program.calls[i].times);
            EXPECT_NEAR(sum, all, all * 1e-12) << model;
          }
        }
  EXPECT_GT(known->size(), 20u);
}

// Times that name their question: nothing but the question may decide the answer.
StepPricer naming_pricer() {
  StepPricer pricer;
  pricer.calls = [](const Workload& w, const CallWanted&) -> Result<std::vector<CallTime>> {
    const Requests& r = w.requests.front();
    const double time = 1e-3 * static_cast<double>(r.count) + 1e-6 * static_cast<double>(r.new_tokens) +
                        1e-9 * static_cast<double>(r.cached);
    return std::vector<CallTime>{{"layer", "attention", OpClass::attention, seconds(time), {}}};
  };
  return pricer;
}

// (10 tokens after 16384, 11 after none) and their like once shared a place in the table.
TEST(ServeStepCost, WhatWasAskedBeforeChangesNothing) {
  const auto prefill = [](Count fresh, Count cached) {
    StepBatch batch;
    batch.prefill = {{fresh, cached}};
    return batch;
  };
  const auto decode = [](Count requests, Count context, Count tokens) {
    StepBatch batch;
    batch.decodes = requests, batch.decode_context = requests * context, batch.decode_tokens = tokens;
    return batch;
  };
  std::vector<StepBatch> asked;
  for (const Count fresh : {2, 3, 10, 11, 16, 19, 64, 8192, 16384})
    for (const Count cached : {0, 64, 16384, 19484, 32768, 65536, 1 << 20}) asked.push_back(prefill(fresh, cached));
  for (const Count requests : {1, 2, 8})
    for (const Count context : {16, 64, 16384, 65536, 1 << 20})
      for (const Count tokens : {1, 2, 5}) asked.push_back(decode(requests, context, tokens));
  const auto used = StepTable::make(naming_pricer(), 0);
  ASSERT_TRUE(used);
  for (const StepBatch& batch : asked) (*used)->of(batch);
  for (const StepBatch& batch : asked) {
    const auto fresh = StepTable::make(naming_pricer(), 0);
    EXPECT_EQ((*used)->of(batch).base(), (*fresh)->of(batch).base());
  }
}

}  // namespace
}  // namespace tilecast
