#include "serve/deployment.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "model/library.h"
#include "parallel/forecast.h"

namespace tilecast {
namespace {

DeploymentOptions options_of(const char* model, const char* gpu, EngineKind kind = EngineKind::vllm) {
  DeploymentOptions o;
  o.model = *find_model(model);
  o.gpu = *find_gpu(gpu);
  o.engine.kind = kind;
  o.engine.precision = *precision_from("bf16");
  return o;
}

Deployment deployed(const DeploymentOptions& o) {
  auto d = deploy(o, Method::roofline, nullptr);
  EXPECT_TRUE(d) << d.error().line();
  return *std::move(d);
}

// Tokens that engines said they had room for when they started, Llama 3.1 8B in bf16 (start-up logs in public
// repositories: 40,528 tokens on RTX 4090, 216,624 on RTX A6000, 442,160 on H100 under vLLM's V1).
TEST(ServeDeployment, VllmsCacheAsItsLogsSay) {
  struct Log {
    const char* gpu;
    double tokens;
  };
  for (const Log& log : {Log{"RTX-4090", 40528}, {"RTX-A6000", 216624}, {"H100-SXM", 442160}}) {
    const Deployment d = deployed(options_of("Llama-3.1-8B", log.gpu));
    EXPECT_NEAR(static_cast<double>(d.pool.blocks * 16) / log.tokens, 1, 0.03) << log.gpu;
  }
}

TEST(ServeDeployment, BudgetAddsUp) {
  const Deployment d = deployed(options_of("Llama-3.1-8B", "H100-SXM"));
  const CacheBudget& b = d.budget;
  EXPECT_DOUBLE_EQ(b.usable.base(), 0.9 * b.visible.base());
  EXPECT_NEAR((b.weights + b.activations + b.other + b.cache).base(), b.usable.base(), 1);
  // 32 layers, keys and values of 8 heads of 128, two bytes.
  EXPECT_DOUBLE_EQ(d.pool.geometry.block_bytes().base(), 16.0 * 32 * 2 * 8 * 128 * 2);
  EXPECT_EQ(d.pool.blocks, static_cast<Count>(b.cache / d.pool.geometry.block_bytes()));
}

// A tower is loaded with the text part, and vLLM looks at the largest images as it profiles itself; the same text model
// without one has that much more room.
TEST(ServeDeployment, ATowerTakesOfTheCache) {
  for (const EngineKind kind : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm}) {
    DeploymentOptions with = options_of("Gemma-3-12B", "H100-SXM", kind);
    with.max_sequences = 8;  // so that sampling, whose logits are many, is not the peak
    DeploymentOptions without = with;
    without.model.tower.reset();
    const CacheBudget a = deployed(with).budget, b = deployed(without).budget;
    const double tower =
        kind == EngineKind::trtllm ? 0 : 2.0 * static_cast<double>(parameters(*with.model.tower->encoder));
    EXPECT_NEAR((a.weights - b.weights).base(), tower, 0.01e9) << name_of(kind);
    if (kind == EngineKind::vllm) {
      // Of 8192 tokens 32 images of 256; each becomes 256 x 3840 numbers of two bytes.
      EXPECT_GE((a.activations - b.activations).base(), 0.9 * 8192 * 3840 * 2);
    } else {
      EXPECT_EQ(a.activations, b.activations) << name_of(kind);
    }
  }
  // Tensor parallel ranks divide it.
  DeploymentOptions over = options_of("Llama-4-Scout", "H100-SXM"), alone = over;
  over.spread = RankSpread{{}, *built_in_cluster_of("H100-SXM")};
  over.spread->layout.tp = 8;
  alone = over;
  alone.model.tower.reset();
  const double each = (deployed(over).budget.weights - deployed(alone).budget.weights).base();
  EXPECT_NEAR(each, 2.0 * static_cast<double>(parameters(*over.model.tower->encoder)) / 8, 0.01e9);
}

TEST(ServeDeployment, EnginesHaveTheirOwnDefaults) {
  const SchedulerLimits h100 = limits_of(options_of("Llama-3.1-8B", "H100-SXM"));
  EXPECT_EQ(h100.max_sequences, 1024);
  EXPECT_EQ(h100.max_tokens, 8192);
  const SchedulerLimits a100 = limits_of(options_of("Llama-3.1-8B", "A100-SXM-80GB"));
  EXPECT_EQ(a100.max_sequences, 256);
  EXPECT_EQ(a100.max_tokens, 2048);
  DeploymentOptions few = options_of("Llama-3.1-8B", "H100-SXM");
  few.max_tokens = 64;
  EXPECT_EQ(limits_of(few).max_sequences, 64) << "every sequence takes a token of a step";
  const SchedulerLimits sglang = limits_of(options_of("Llama-3.1-8B", "L40S", EngineKind::sglang));
  EXPECT_EQ(sglang.chunk, 4096);
  EXPECT_EQ(sglang.policy, Policy::sglang);
  const SchedulerLimits trtllm = limits_of(options_of("Llama-3.1-8B", "H100-SXM", EngineKind::trtllm));
  EXPECT_FALSE(trtllm.chunked_prefill);
  EXPECT_EQ(trtllm.policy, Policy::trtllm_no_evict);
}

// mem_fraction_static on H100: a reserve of 512 + 1.5 x 8192 + 2 x 256 + 128 = 13440 MiB of what is visible.
TEST(ServeDeployment, SglangsShareByHand) {
  const Deployment d = deployed(options_of("Llama-3.1-8B", "H100-SXM", EngineKind::sglang));
  const double visible = 80 * 1024 * 0.987;
  const double share = std::round((visible - 13440) / visible * 1000) / 1000;
  EXPECT_NEAR(d.budget.usable.base(), (visible - 0.1 * 1024) * share * 1024 * 1024, 1e3);
  EXPECT_NEAR(d.budget.cache.base(), d.budget.usable.base() - d.budget.weights.base(), 1);
}

TEST(ServeDeployment, MoreOfEverythingLeavesLessCache) {
  DeploymentOptions o = options_of("Llama-3.1-8B", "H100-SXM");
  const Count plain = deployed(o).pool.blocks;
  o.max_sequences = 4096;
  EXPECT_LT(deployed(o).pool.blocks, plain);
  o = options_of("Llama-3.1-8B", "H100-SXM");
  o.memory_fraction = 0.5;
  EXPECT_LT(deployed(o).pool.blocks, plain);
  o = options_of("Llama-3.1-8B", "H100-SXM");
  o.engine.precision.cache = CacheType::fp8;
  EXPECT_NEAR(static_cast<double>(deployed(o).pool.blocks), 2.0 * static_cast<double>(plain), 2);
}

TEST(ServeDeployment, RefusesWhatDoesNotServe) {
  EXPECT_FALSE(deploy(options_of("Llama-3.1-70B", "H100-SXM"), Method::roofline, nullptr));
  EXPECT_FALSE(deploy(options_of("BERT-Base", "H100-SXM"), Method::roofline, nullptr));
  EXPECT_FALSE(deploy(options_of("T5-Base", "H100-SXM"), Method::roofline, nullptr));
  EXPECT_FALSE(deploy(options_of("Llama-3.1-8B", "H100-SXM", EngineKind::pytorch), Method::roofline, nullptr));
}

TEST(ServeHost, GraphsAsTheEnginesCaptureThem) {
  const HostTimes vllm = host_times(EngineKind::vllm, 256, 2048);
  EXPECT_EQ(vllm.graphs.size(), 51u);  // as its log says: largest 512
  EXPECT_EQ(vllm.graphs.back(), 512);
  EXPECT_EQ(captured_size(vllm.graphs, 1), 1);
  EXPECT_EQ(captured_size(vllm.graphs, 3), 4);
  EXPECT_EQ(captured_size(vllm.graphs, 249), 256);
  EXPECT_EQ(captured_size(vllm.graphs, 257), 272);
  EXPECT_EQ(captured_size(vllm.graphs, 513), 0);
  EXPECT_EQ(host_times(EngineKind::vllm, 16, 2048).graphs.back(), 32);
  EXPECT_EQ(captured_size(host_times(EngineKind::sglang, 256, 0).graphs, 9), 12);
  EXPECT_EQ(captured_size(host_times(EngineKind::trtllm, 2048, 0).graphs, 129), 256);
  // TensorRT-LLM's first 128 requests cost 68 us each, others 12.7: 2 + 8.704 + 1872 x 0.0127 ms.
  const HostTimes trtllm = host_times(EngineKind::trtllm, 2048, 0);
  EXPECT_NEAR(in_milliseconds(between_steps(trtllm, 128)), 10.704, 1e-9);
  EXPECT_NEAR(in_milliseconds(between_steps(trtllm, 2000)), 34.4784, 1e-9);
  EXPECT_NEAR(in_milliseconds(between_steps(vllm, 2000)), 25.8, 1e-9);
}

RankLayout layout_of(int tp, int pp = 1, int dp = 1, int ep = 1, int cp = 1) {
  RankLayout layout;
  layout.tp = tp, layout.pp = pp, layout.dp = dp, layout.ep = ep, layout.cp = cp;
  return layout;
}

DeploymentOptions over(const char* model, const char* gpu, RankLayout layout, EngineKind kind = EngineKind::vllm) {
  DeploymentOptions o = options_of(model, gpu, kind);
  o.spread = RankSpread{layout, *built_in_cluster_of(o.gpu.name)};
  return o;
}

TEST(ServeDeployment, RanksDivideKeysAndWeights) {
  const Deployment one = deployed(options_of("Llama-3.1-8B", "H100-SXM"));
  const Deployment four = deployed(over("Llama-3.1-8B", "H100-SXM", layout_of(4)));
  EXPECT_DOUBLE_EQ(four.pool.geometry.block_bytes().base(), one.pool.geometry.block_bytes().base() / 4);
  EXPECT_NEAR(four.budget.weights / one.budget.weights, 0.25, 0.01);
  // Eight key heads over sixteen ranks: each has a copy of one.
  DeploymentOptions sixteen = over("Llama-3.1-8B", "H100-SXM", layout_of(16));
  sixteen.spread->cluster.nodes = 2;
  EXPECT_DOUBLE_EQ(deployed(sixteen).pool.geometry.block_bytes().base(), one.pool.geometry.block_bytes().base() / 8);
  // A latent belongs to all heads: every rank keeps it whole.
  const auto latent = [](int tp) {
    DeploymentOptions o = over("DeepSeek-R1", "H200-SXM", layout_of(tp, 1, 1, tp));
    o.engine.precision = *precision_from("fp8_block");
    return deployed(o).pool.geometry.block_bytes().base();
  };
  EXPECT_DOUBLE_EQ(latent(8), 64.0 * 61 * (512 + 64) * 2);
}

TEST(ServeDeployment, StagesDivideLayers) {
  const Deployment one = deployed(options_of("Llama-3.1-8B", "H100-SXM"));
  const Deployment two = deployed(over("Llama-3.1-8B", "H100-SXM", layout_of(1, 2)));
  EXPECT_DOUBLE_EQ(two.pool.geometry.block_bytes().base(), one.pool.geometry.block_bytes().base() / 2);
  EXPECT_EQ(two.pool.stages, 2);
  EXPECT_DOUBLE_EQ(two.pool.stage_share, 0.5);
  EXPECT_TRUE(two.pool.limits.pipelined);
}

TEST(ServeDeployment, DataParallelRanksThatShareExpertsStepTogether) {
  DeploymentOptions o = over("Qwen3-235B-A22B-FP8", "H200-SXM", layout_of(1, 1, 8, 8));
  o.engine.precision = *precision_from("fp8_block");
  const Deployment d = deployed(o);
  EXPECT_EQ(d.pool.replicas, 8);
  EXPECT_EQ(d.pool.in_step, 8);
  EXPECT_EQ(deployed(over("Llama-3.1-8B", "H100-SXM", layout_of(1, 1, 2))).pool.in_step, 1);
}

TEST(ServeDeployment, RefusesLayoutsByName) {
  EXPECT_FALSE(deploy(over("Llama-3.1-8B", "H100-SXM", layout_of(3)), Method::roofline, nullptr));
  EXPECT_FALSE(deploy(over("Llama-3.1-8B", "H100-SXM", layout_of(2, 1, 1, 1, 2)), Method::roofline, nullptr));
  EXPECT_FALSE(deploy(over("Llama-3.1-8B", "H100-SXM", layout_of(16)), Method::roofline, nullptr));  // eight in a node
}

// Two ranks do half of the products each and sum what they get; one rank of a layout of one is the GPU alone.
TEST(ServeDeployment, RanksShareAStep) {
  const DeploymentOptions alone = options_of("Llama-3.1-70B", "H200-SXM");
  const auto step = [](const StepPricer& pricer, Count batch) {
    Workload w;
    w.mode = Mode::decode;
    w.requests = {{batch, 1, 1024}};
    double sum = 0;
    const auto calls = pricer.calls(w, {});
    for (const CallTime& c : *calls) sum += c.cool.base();
    return sum;
  };
  const auto over_ranks = [&](int tp) {
    return price_over(alone.model, alone.engine, {layout_of(tp), *built_in_cluster_of("H200-SXM")}, Method::roofline,
                      nullptr);
  };
  const double one = step(price_on(alone.model, alone.engine, alone.gpu, Method::roofline, nullptr), 64);
  EXPECT_DOUBLE_EQ(step(over_ranks(1), 64), one);
  const double two = step(over_ranks(2), 64), eight = step(over_ranks(8), 64);
  EXPECT_GT(two, one / 2);
  EXPECT_LT(two, 0.7 * one);
  EXPECT_GT(eight, one / 8);
  EXPECT_LT(eight, two);
  // Two sums a layer, one of the embedding, and the logits gathered.
  Workload w;
  w.mode = Mode::decode;
  w.requests = {{64, 1, 1024}};
  std::set<std::string> exchanged;
  const auto calls = over_ranks(2).calls(w, {});
  for (const CallTime& c : *calls)
    if (c.op_class == OpClass::other && (c.name.ends_with(" sum") || c.name.ends_with(" gather")))
      exchanged.insert(c.name);
  EXPECT_EQ(exchanged, (std::set<std::string>{"attention sum", "feed-forward sum", "embedding sum", "logits gather"}));
}

// SGLang plans a step when the last has ended where it speculates, and where its radix cache holds states.
TEST(ServeDeployment, SglangsOverlapEndsWithDraftsAndStates) {
  const auto overlaps = [](const char* model, const char* gpu, EngineKind engine, int draft, bool reuse) {
    DeploymentOptions o = options_of(model, gpu, engine);
    o.speculation.draft = draft, o.speculation.acceptance = 0.7, o.reuse = reuse;
    return deployed(o).pool.host.overlapped;
  };
  EXPECT_TRUE(overlaps("Llama-3.1-8B", "H100-SXM", EngineKind::sglang, 0, true));
  EXPECT_FALSE(overlaps("Llama-3.1-8B", "H100-SXM", EngineKind::sglang, 3, true));
  EXPECT_TRUE(overlaps("Llama-3.1-8B", "H100-SXM", EngineKind::vllm, 3, true));
  EXPECT_FALSE(overlaps("Nemotron-H-8B", "H100-SXM", EngineKind::sglang, 0, true));
  EXPECT_TRUE(overlaps("Nemotron-H-8B", "H100-SXM", EngineKind::sglang, 0, false));
  EXPECT_TRUE(overlaps("Nemotron-H-8B", "B200", EngineKind::sglang, 0, true));
  DeploymentOptions o = options_of("Llama-3.1-8B", "H100-SXM", EngineKind::sglang);
  o.speculation.draft = 3;
  EXPECT_EQ(limits_of(o).max_sequences, 48);
  o.max_sequences = 128;
  EXPECT_EQ(limits_of(o).max_sequences, 128);
}

// Tokens reach experts on other ranks by gathering all of them, unless the engine is told to send each where it goes.
TEST(ServeDeployment, TokensReachExpertsAsTheEngineSendsThem) {
  const auto names = [](EngineKind engine, ExpertTransport transport, int tp, int dp) {
    DeploymentOptions o = options_of("Qwen3-30B-A3B", "H200-SXM", engine);
    o.engine.transport = transport;
    const RankSpread spread{RankLayout{.tp = tp, .dp = dp, .ep = tp * dp}, *built_in_cluster_of("H200-SXM")};
    const auto calls =
        price_over(o.model, o.engine, spread, Method::roofline, nullptr).calls({Mode::decode, {{8, 1, 99}}}, {});
    EXPECT_TRUE(calls);
    std::map<std::string, double> exchanged;
    for (const CallTime& c : *calls)
      if (c.op_class == OpClass::other && !c.name.ends_with("sum") && !c.name.starts_with("logits"))
        exchanged[c.name] += c.cool.base();
    return exchanged;
  };
  using enum ExpertTransport;
  const auto keys = [](const std::map<std::string, double>& of) {
    std::set<std::string> all;
    for (const auto& [name, time] : of) all.insert(name);
    return all;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(keys(names(EngineKind::vllm, usual, 1, 4)), (Names{"expert gather", "expert scatter"}));
  EXPECT_EQ(keys(names(EngineKind::vllm, usual, 2, 2)), (Names{"expert gather", "expert scatter", "token gather"}));
  EXPECT_EQ(keys(names(EngineKind::vllm, deepep, 1, 4)), (Names{"dispatch decode", "combine decode"}));
  EXPECT_EQ(keys(names(EngineKind::trtllm, usual, 1, 4)), (Names{"dispatch decode", "combine decode"}));
  // What FlashInfer packs is what TensorRT-LLM runs.
  EXPECT_EQ(names(EngineKind::vllm, one_sided, 1, 4), names(EngineKind::trtllm, usual, 1, 4));
  EXPECT_NE(names(EngineKind::vllm, deepep, 1, 4), names(EngineKind::trtllm, usual, 1, 4));
}

// A card of another name is the same card, and so is one made from its description.
TEST(ServeDeployment, NamesDecideNothing) {
  for (const char* name : {"A100-SXM-80GB", "H100-SXM", "RTX-4090", "L40S"}) {
    const DeploymentOptions own = options_of("Llama-3.2-1B", name);
    DeploymentOptions renamed = own;
    renamed.gpu.name = "Mine";
    EXPECT_EQ(limits_of(renamed).max_sequences, limits_of(own).max_sequences) << name;
    EXPECT_EQ(limits_of(renamed).max_tokens, limits_of(own).max_tokens) << name;
    EXPECT_EQ(deployed(renamed).pool.blocks, deployed(own).pool.blocks) << name;
  }
}

// What `memory` and `predict` say of the room for keys and values is what a simulation starts with.
TEST(ServeDeployment, OneModelOfUsableMemory) {
  struct Case {
    const char *model, *gpu;
    EngineKind engine;
  };
  for (const Case& c : {Case{"Llama-3.1-8B", "H100-SXM", EngineKind::vllm},
                        {"Llama-3.1-8B", "H100-SXM", EngineKind::sglang},
                        {"Llama-3.1-8B", "H100-SXM", EngineKind::trtllm},
                        {"Phi-4", "L40S", EngineKind::vllm},
                        {"Llama-3.2-1B", "RTX-4090", EngineKind::vllm},
                        {"gpt-oss-20b", "H100-SXM", EngineKind::vllm},       // windows
                        {"Gemma-3-27B", "H100-SXM", EngineKind::sglang},     // windows
                        {"Nemotron-H-8B", "H100-SXM", EngineKind::vllm}}) {  // states
    const DeploymentOptions o = options_of(c.model, c.gpu, c.engine);
    const Deployment d = deployed(o);
    const tilecast::Run run{o.model, {Mode::decode, {{1, 1, 1000}}}, o.engine, {}};
    const auto memory = memory_of(run, *prepare(run), o.gpu);
    ASSERT_TRUE(memory);
    const Count tokens = d.pool.blocks * d.pool.geometry.block_tokens;
    EXPECT_EQ(memory->cache_tokens, tokens) << c.model << " " << c.gpu;
    EXPECT_GT(tokens, 0) << c.model;
    if (!d.pool.geometry.plain()) continue;
    const Count fits = largest_that_fits(run, o.gpu)->batch;
    EXPECT_NEAR(static_cast<double>(fits), static_cast<double>(tokens) / 1001, 1) << c.model << " " << c.gpu;
  }
}

// A model that is larger than the card makes the card neither larger nor negative.
TEST(ServeDeployment, UsableMemoryIsOfTheCardThoughWeightsExceedIt) {
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm}) {
    const DeploymentOptions o = options_of("Llama-3.1-70B", "L4", engine);
    const tilecast::Run run{o.model, {Mode::decode, {{1, 1, 1000}}}, o.engine, {}};
    const auto memory = memory_of(run, *prepare(run), o.gpu);
    ASSERT_TRUE(memory);
    EXPECT_GT(memory->usable, gibibytes(15)) << name_of(engine);
    EXPECT_LT(memory->usable, gibibytes(24)) << name_of(engine);
    EXPECT_EQ(memory->cache_tokens, 0) << name_of(engine);
  }
}

TEST(ServeDeployment, OneModelOfUsableMemoryOverRanks) {
  for (const auto& [tp, pp] : {std::pair(2, 1), std::pair(1, 2), std::pair(4, 1)}) {
    const DeploymentOptions o = over("Llama-3.1-8B", "H100-SXM", layout_of(tp, pp));
    const Deployment d = deployed(o);
    const ParallelRun run{{o.model, {Mode::decode, {{1, 1, 1000}}}, o.engine, {}}, o.spread->layout, 0};
    StepPricing with;
    with.method = Method::roofline, with.links = &shipped_comm_constants();
    const auto forecast = forecast_parallel(run, o.spread->cluster, with);
    ASSERT_TRUE(forecast) << forecast.error().line();
    Count least = forecast->stages.front().cache_tokens;
    for (const StageForecast& stage : forecast->stages) least = std::min(least, stage.cache_tokens);
    EXPECT_NEAR(static_cast<double>(least) / static_cast<double>(d.pool.blocks * 16), 1, 0.001) << tp << " " << pp;
  }
}

}  // namespace
}  // namespace tilecast
