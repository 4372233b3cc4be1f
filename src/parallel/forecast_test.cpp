// Steps of many GPUs: one rank is one GPU, parts sum to the step, faster links never slow it down.
#include "parallel/forecast.h"

#include <gtest/gtest.h>

#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "kernel/moe.h"
#include "model/library.h"

namespace tilecast {
namespace {

Cluster cluster_of(const char* name, int nodes = 1) {
  Cluster cluster = *find_cluster(name);
  cluster.nodes = nodes;
  return cluster;
}

Run run_of(const char* model, EngineKind engine, Mode mode, std::vector<Requests> requests) {
  Run run{*find_model(model), {}, {}, {}};
  run.workload.mode = mode;
  run.workload.requests = std::move(requests);
  run.engine.kind = engine;
  run.engine.precision = *precision_from("bf16");
  return run;
}

StepPricing analytic() { return {Method::analytic, nullptr, &shipped_comm_constants()}; }

ParallelForecast forecast_of(const ParallelRun& run, const Cluster& cluster) {
  auto forecast = forecast_parallel(run, cluster, analytic());
  EXPECT_TRUE(forecast) << text_of(run.layout) << ": " << forecast.error().line();
  return *std::move(forecast);
}

void expect_same(double a, double b, const std::string& what) { EXPECT_NEAR(a, b, 1e-12 * std::abs(b)) << what; }

void expect_one_gpu(const Run& alone, const ParallelRun& spread, const StepPricing& with, const std::string& what) {
  const Cluster cluster = cluster_of("HGX-H100-8");
  const auto prepared = prepare(alone);
  ASSERT_TRUE(prepared) << what;
  const auto one = forecast_run(alone, *prepared, cluster.gpu, with.method, with.weights);
  const auto many = forecast_parallel(spread, cluster, with);
  ASSERT_TRUE(one) << what;
  ASSERT_TRUE(many) << what << ": " << many.error().line();
  expect_same(many->step.base(), one->step.total.base(), what + ", step");
  expect_same(many->interval.low.base(), one->step.interval.low.base(), what + ", low");
  expect_same(many->interval.high.base(), one->step.interval.high.base(), what + ", high");
  expect_same(many->bound.base(), one->step.bound.base(), what + ", bound");
  expect_same(many->tokens_per_second, one->tokens_per_second, what + ", tokens");
  // Eager experts run one by one, each with as many whole tokens.
  EXPECT_NEAR(many->utilisation / one->utilisation, 1, alone.engine.kind == EngineKind::pytorch ? 0.01 : 1e-12) << what;
  ASSERT_EQ(many->stages.size(), 1u);
  const MemoryNeed &a = many->stages[0].memory, &b = one->memory;
  expect_same(a.total().base(), b.total().base(), what + ", memory");
  expect_same(a.weights.base(), b.weights.base(), what + ", weights");
  expect_same(a.cache.base(), b.cache.base(), what + ", cache");
  expect_same(a.activations.base(), b.activations.base(), what + ", activations");
  EXPECT_EQ(many->fits(), one->fits()) << what;
  EXPECT_EQ(many->exposed(), seconds(0)) << what;
}

constexpr const char* kModels[] = {"Llama-3.1-8B", "Qwen3-30B-A3B", "DeepSeek-V2-Lite"};  // dense, experts, latent

// Over ranks too: tokens that crowd as few experts as there may be, or half of them here and half there, are not faster
// than the bound of a step whose routing is another.
TEST(ParallelBound, NoRoutingBeatsIt) {
  const Cluster cluster = cluster_of("HGX-H100-8");
  const auto bound = [&](const RankLayout& layout, Count batch, std::optional<Routing> routing) {
    ParallelRun run{run_of("Qwen3-30B-A3B", EngineKind::vllm, Mode::decode, {{batch, 1, 512}}), layout};
    run.run.engine.routing = std::move(routing);
    return forecast_of(run, cluster).bound.base();
  };
  constexpr std::size_t kExperts = 128, kVisited = 8;
  for (const auto& [tp, ep] : {std::pair{4, 1}, {4, 4}, {8, 8}}) {
    RankLayout layout;
    layout.tp = tp, layout.ep = ep;
    for (const Count batch : {4, 256}) {
      const double any = bound(layout, batch, Routing{ExpertDistribution::balanced, 1.2, {}});
      EXPECT_LE(bound(layout, batch, std::nullopt), any * (1 + 1e-9));
      // As many experts as a token visits, one after the other, and one on each rank in turn.
      for (const bool spread : {false, true}) {
        std::vector<double> few(kExperts, 0.0);
        for (std::size_t n = 0; n < kVisited; ++n) {
          const auto ranks = static_cast<std::size_t>(ep);
          few[spread ? n % ranks * (kExperts / ranks) + n / ranks : n] = 1;
        }
        EXPECT_LE(any, bound(layout, batch, Routing{ExpertDistribution::given, 1.2, few}) * (1 + 1e-9))
            << tp << " " << ep << " " << batch << " " << spread;
      }
    }
  }
}

TEST(OneRank, ServesAsOneGpuDoes) {
  for (const char* model : kModels)
    for (const EngineKind engine : {EngineKind::vllm, EngineKind::pytorch})
      for (const auto& [mode, requests] : {std::pair<Mode, std::vector<Requests>>{Mode::prefill, {{2, 1024, 0}}},
                                           {Mode::decode, {{8, 1, 2048}, {1, 1, 300}}},
                                           {Mode::mixed, {{16, 1, 1000}, {1, 512, 0}}}}) {
        const auto run = run_of(model, engine, mode, requests);
        expect_one_gpu(run, {run, {}, 0}, analytic(),
                       std::string(model) + " " + std::string(name_of(engine)) + " " + std::string(name_of(mode)));
      }
}

TEST(OneRank, ServesAsOneGpuDoesByTheLearnedMethod) {
  const auto run = run_of("Llama-3.1-8B", EngineKind::sglang, Mode::decode, {{8, 1, 2048}});
  expect_one_gpu(run, {run, {}, 0}, {Method::tilecast, &shipped_models(), &shipped_comm_constants()}, "learned");
}

TEST(OneRank, TrainsAsOneGpuDoes) {
  for (const char* model : kModels)
    for (const EngineKind engine : {EngineKind::pytorch, EngineKind::cudagraph})
      for (const Count accumulation : {1, 4})
        for (const Recompute recompute : {Recompute::none, Recompute::full}) {
          auto alone = run_of(model, engine, Mode::train, {{2, 256, 0}});
          alone.training.options.recompute = recompute;
          ParallelRun spread{alone, {}, 2};
          alone.training.accumulation = accumulation;
          spread.run.workload.requests.front().count *= accumulation;
          expect_one_gpu(alone, spread, analytic(),
                         std::string(model) + " " + std::string(name_of(engine)) + " x " +
                             std::to_string(accumulation) + (recompute == Recompute::full ? ", recomputed" : ""));
        }
}

// One of each kind of exchange, within a node and across nodes.
struct Spread {
  std::string name;
  ParallelRun run;
  Cluster cluster;
};
RankLayout ranks_of(int tp, int cp, int dp, int pp) {
  RankLayout l;
  l.tp = tp, l.cp = cp, l.dp = dp, l.pp = pp;
  return l;
}

std::vector<Spread> spreads() {
  std::vector<Spread> all;
  const auto add = [&](std::string name, Run run, RankLayout layout, Count micro, Cluster cluster) {
    all.push_back({std::move(name), {std::move(run), std::move(layout), micro}, std::move(cluster)});
  };
  const Cluster node = cluster_of("HGX-H100-8"), nodes = cluster_of("HGX-A100-8", 4), pcie = cluster_of("L40S-PCIe-8");
  const auto prefill = run_of("Llama-3.1-70B", EngineKind::vllm, Mode::prefill, {{4, 2048, 0}});
  const auto decode = run_of("Llama-3.1-70B", EngineKind::sglang, Mode::decode, {{32, 1, 2048}});
  add("prefill tp 8", prefill, ranks_of(8, 1, 1, 1), 0, node);
  add("prefill over PCIe", prefill, ranks_of(4, 1, 1, 2), 0, pcie);
  add("decode tp 4 pp 2", decode, ranks_of(4, 1, 1, 2), 0, node);
  const auto experts = run_of("Qwen3-30B-A3B", EngineKind::vllm, Mode::decode, {{64, 1, 1024}});
  RankLayout l = ranks_of(2, 1, 4, 1);
  l.ep = 8;
  add("decode ep 8", experts, l, 0, node);
  const auto train = run_of("Llama-3.1-8B", EngineKind::cudagraph, Mode::train, {{64, 2048, 0}});
  for (const Sharding sharding : {Sharding::none, Sharding::optimizer, Sharding::gradients, Sharding::parameters}) {
    l = ranks_of(2, 1, 16, 1);
    l.sharding = sharding;
    add("train " + std::string(name_of(sharding)), train, l, 2, nodes);
  }
  l = ranks_of(2, 2, 4, 2);
  l.sequence_parallel = true;
  add("train sp cp pp", train, l, 1, nodes);
  l.context = ContextScheme::all_gather, l.schedule = PipelineSchedule::zero_bubble;
  add("train zero-bubble", train, l, 1, nodes);
  l = ranks_of(1, 1, 4, 4), l.chunks = 2;
  add("train interleaved", train, l, 1, nodes);
  auto moe = run_of("Qwen3-30B-A3B", EngineKind::cudagraph, Mode::train, {{32, 1024, 0}});
  moe.training.options.recompute = Recompute::full;
  l = ranks_of(2, 1, 16, 1), l.ep = 8, l.sharding = Sharding::optimizer;
  add("train ep", moe, l, 1, nodes);
  l = ranks_of(1, 1, 8, 4), l.ep = 8, l.schedule = PipelineSchedule::dual_pipe_v, l.chunks = 2;
  add("train dualpipe-v", moe, l, 1, nodes);
  add("train tied pp", run_of("Llama-3.2-1B", EngineKind::cudagraph, Mode::train, {{16, 1024, 0}}),
      ranks_of(2, 1, 4, 2), 1, nodes);
  return all;
}

TEST(Spread, PartsSumToTheStep) {
  for (const Spread& s : spreads()) {
    const ParallelForecast f = forecast_of(s.run, s.cluster);
    const Seconds sum = f.compute + f.bubble + f.optimizer + f.exposed();
    expect_same(sum.base(), f.step.base(), s.name);
    for (const Seconds part : {f.compute, f.optimizer, f.exposed()}) EXPECT_GE(part, seconds(0)) << s.name;
    EXPECT_GE(f.bubble.base(), -1e-12 * f.step.base()) << s.name;
    for (const AxisTime& axis : f.axes) EXPECT_GE(axis.total.base(), axis.exposed.base() * (1 - 1e-12)) << s.name;
    EXPECT_EQ(f.exchanges.size(), f.exchange_times.size()) << s.name;
    Count layers = 0;
    for (const StageForecast& stage : f.stages) layers += stage.layers;
    EXPECT_EQ(layers, std::get<ModelSpec>(s.run.run.model).decoder->layer_count()) << s.name;
  }
}

TEST(Spread, NeverBeatsItsBoundAndStandsInItsInterval) {
  for (const Spread& s : spreads()) {
    const ParallelForecast f = forecast_of(s.run, s.cluster);
    EXPECT_GT(f.bound, seconds(0)) << s.name;
    EXPECT_GE(f.step, f.bound) << s.name;
    EXPECT_GE(f.interval.low, f.bound) << s.name;
    EXPECT_LE(f.interval.low, f.step) << s.name;
    EXPECT_GE(f.interval.high, f.step) << s.name;
    EXPECT_GT(f.utilisation, 0) << s.name;
    EXPECT_LT(f.utilisation, 1) << s.name;
    EXPECT_NEAR(f.tokens_per_second * f.step.base(), static_cast<double>(s.run.run.workload.tokens()), 1e-6) << s.name;
  }
}

TEST(Spread, IsNeverSlowerWithFasterLinks) {
  for (const Spread& s : spreads()) {
    const Seconds before = forecast_of(s.run, s.cluster).step;
    for (const double factor : {1.05, 2.0, 100.0}) {
      Cluster inside = s.cluster, between = s.cluster;
      inside.intra.bandwidth = inside.intra.bandwidth * factor;
      if (inside.host_bridge) inside.host_bridge->bandwidth = inside.host_bridge->bandwidth * factor;
      between.inter->bandwidth = between.inter->bandwidth * factor;
      EXPECT_LE(forecast_of(s.run, inside).step.base(), before.base() * (1 + 1e-12)) << s.name << ", links " << factor;
      EXPECT_LE(forecast_of(s.run, between).step.base(), before.base() * (1 + 1e-12)) << s.name << ", net " << factor;
    }
  }
}

// Two 8 k x 8 k sums a layer, and no other exchange of that size: 8192 tokens of 8192 numbers of two bytes.
TEST(Spread, ExchangesWhatTensorParallelismMust) {
  const auto prefill = run_of("Llama-3.1-70B", EngineKind::vllm, Mode::prefill, {{4, 2048, 0}});
  const ParallelForecast f = forecast_of({prefill, ranks_of(8, 1, 1, 1), 0}, cluster_of("HGX-H100-8"));
  int sums = 0;
  Seconds total;
  for (std::size_t i = 0; i < f.exchanges.size(); ++i) {
    const Exchange& e = f.exchanges[i];
    const double times = e.name == "embedding sum" || e.name == "logits gather" ? 1 : 80;
    total += f.exchange_times[i].latency * (times * e.times);
    if (e.call.op != CollectiveOp::all_reduce) continue;
    ++sums;
    EXPECT_EQ(in_bytes(e.call.bytes), 8192.0 * 8192 * 2) << e.name;
    EXPECT_EQ(e.call.ranks, 8);
  }
  EXPECT_EQ(sums, 3);
  expect_same(f.exposed().base(), total.base(), "exposed");
}

// Half the ranks wait while the other half works on one batch; the link between them is paid once.
TEST(Spread, ABatchPassesStageAfterStage) {
  const auto decode = run_of("Llama-3.1-8B", EngineKind::vllm, Mode::decode, {{8, 1, 1024}});
  const Cluster node = cluster_of("HGX-H100-8");
  const ParallelForecast one = forecast_of({decode, {}, 0}, node),
                         two = forecast_of({decode, ranks_of(1, 1, 1, 2), 0}, node);
  expect_same(two.step.base(), (one.step + two.pipeline.send).base(), "step");
  EXPECT_NEAR(two.stages[0].memory.cache / one.stages[0].memory.cache, 0.5, 1e-12);
  const double weights = (two.stages[0].memory.weights + two.stages[1].memory.weights) / one.stages[0].memory.weights;
  EXPECT_NEAR(weights, 1, 1e-9);
}

// (stages - 1) / (micro-batches + stages - 1) of the ranks' time, where stages are alike and sends cost little.
TEST(Spread, HasThePipelinesBubble) {
  auto train = run_of("Llama-3.1-70B", EngineKind::cudagraph, Mode::train, {{16, 2048, 0}});
  const ParallelForecast f = forecast_of({train, ranks_of(1, 1, 1, 4), 1}, cluster_of("HGX-H100-8"));
  const double share = f.bubble / (f.step - f.optimizer);
  EXPECT_NEAR(share, 3.0 / 19, 0.02);
  EXPECT_EQ(f.micro_batches, 16);
}

// Shards of parameters, gradients and optimizer states: 16 bytes a parameter over 8 ranks.
TEST(Spread, ShardsMemory) {
  auto train = run_of("Llama-3.1-8B", EngineKind::cudagraph, Mode::train, {{8, 512, 0}});
  train.engine.precision.mixed = MixedPrecision::master;
  const auto state = [&](Sharding sharding) {
    RankLayout l = ranks_of(1, 1, 8, 1);
    l.sharding = sharding;
    return forecast_of({train, l, 1}, cluster_of("HGX-H100-8")).stages[0].memory;
  };
  const MemoryNeed ddp = state(Sharding::none), zero1 = state(Sharding::optimizer), zero3 = state(Sharding::parameters);
  EXPECT_NEAR(zero1.optimizer / ddp.optimizer, 1.0 / 8, 1e-9);
  EXPECT_EQ(zero1.weights, ddp.weights);
  EXPECT_NEAR(zero3.weights / ddp.weights, 1.0 / 8, 1e-9);
  EXPECT_NEAR(zero3.gradients / ddp.gradients, 1.0 / 8, 1e-9);
  EXPECT_LT(zero3.total(), zero1.total());
}

TEST(Spread, RefusesBatchesThatDoNotDivide) {
  const auto train = run_of("Llama-3.1-8B", EngineKind::cudagraph, Mode::train, {{6, 512, 0}});
  const auto global = forecast_parallel({train, ranks_of(1, 1, 4, 1), 1}, cluster_of("HGX-H100-8"), analytic());
  ASSERT_FALSE(global);
  EXPECT_EQ(global.error().line(),
            "global-batch: 6 sequences do not divide among 4 data parallel ranks (nearest: 4 or 8)");
  const auto few = forecast_parallel({train, ranks_of(1, 1, 8, 1), 1}, cluster_of("HGX-H100-8"), analytic());
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().remedy, "at least 8");
  const auto micro = forecast_parallel({train, ranks_of(1, 1, 2, 1), 2}, cluster_of("HGX-H100-8"), analytic());
  ASSERT_FALSE(micro);
  EXPECT_EQ(micro.error().field, "micro-batch");
  // Context parallel ranks share prompts, of whichever request.
  auto mixed = run_of("Llama-3.1-8B", EngineKind::vllm, Mode::mixed, {{1, 512, 0}, {4, 1, 300}});
  EXPECT_FALSE(forecast_parallel({mixed, ranks_of(1, 2, 1, 1), 0}, cluster_of("HGX-H100-8"), analytic()));
  mixed.workload.requests = {{1, 512, 0}, {4, 30, 0}};
  const auto odd = forecast_parallel({mixed, ranks_of(1, 2, 1, 1), 0}, cluster_of("HGX-H100-8"), analytic());
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().problem.find("not 30 tokens"), std::string::npos) << odd.error().line();
}

std::vector<Exchange> tied_sums(const ParallelForecast& f) {
  std::vector<Exchange> found;
  for (const Exchange& e : f.exchanges)
    if (e.name == "tied embedding sum") found.push_back(e);
  return found;
}

// Megatron's embedding group: the first and the last stage's tables, 128,256 tokens of 2,048 numbers over two tensor
// parallel ranks, in fp32.
TEST(TiedEmbedding, IsSummedBetweenTheEndsOfAPipeline) {
  auto train = run_of("Llama-3.2-1B", EngineKind::cudagraph, Mode::train, {{16, 1024, 0}});
  train.training.wide_gradients = true;
  const Cluster node = cluster_of("HGX-H100-8");
  const auto at = [&](tilecast::Run run, const RankLayout& l) { return forecast_of({std::move(run), l, 1}, node); };
  const RankLayout pipeline = ranks_of(2, 1, 1, 4);
  const ParallelForecast tied = at(train, pipeline);
  const auto sums = tied_sums(tied);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(in_bytes(sums[0].call.bytes), 128256.0 / 2 * 2048 * 4);
  EXPECT_EQ(sums[0].call.ranks, 2);
  EXPECT_EQ(sums[0].stride, 6);  // ranks 0 and 6, 1 and 7
  const AxisTime& axis = tied.axes[static_cast<std::size_t>(Axis::pipeline)];
  EXPECT_EQ(axis.exposed, tied.exchange_times.back().latency);
  EXPECT_GT(axis.exposed, sums[0].call.bytes / node.intra.bandwidth);
  // Tables of their own need no sum, and hold as much on either end.
  tilecast::Run own = train;
  std::get<ModelSpec>(own.model).tied_head = false;
  const ParallelForecast untied = at(own, pipeline);
  EXPECT_TRUE(tied_sums(untied).empty());
  // The sum is all that differs, but for the power that a larger update draws.
  EXPECT_NEAR((tied.step - tied.optimizer - axis.exposed) / (untied.step - untied.optimizer), 1, 1e-3);
  for (const std::size_t end : {std::size_t{0}, std::size_t{3}})
    for (const auto part : {&MemoryNeed::weights, &MemoryNeed::gradients, &MemoryNeed::optimizer})
      EXPECT_EQ(tied.stages[end].memory.*part, untied.stages[end].memory.*part) << end;
  // One rank has both ends, or there is but one stage, or nothing learns there.
  RankLayout v = pipeline;
  v.schedule = PipelineSchedule::zero_bubble_v, v.chunks = 2;
  EXPECT_TRUE(tied_sums(at(train, v)).empty());
  EXPECT_TRUE(tied_sums(at(train, ranks_of(2, 1, 4, 1))).empty());
  EXPECT_TRUE(tied_sums(at(run_of("Llama-3.2-1B", EngineKind::vllm, Mode::prefill, {{4, 512, 0}}), pipeline)).empty());
  // Across nodes by the network.
  const ParallelForecast far = forecast_of({train, ranks_of(2, 1, 4, 2), 1}, cluster_of("HGX-H100-8", 2));
  EXPECT_EQ(tied_sums(far)[0].call.local, 1);
}

TEST(ExpertTokens, FollowTheGroupsThatRoutingIsLimitedTo) {
  const auto nodes = [](const char* model, int ep) {
    auto train = run_of(model, EngineKind::cudagraph, Mode::train, {{64, 512, 0}});
    train.training.token_dispatch = TokenDispatch::deepep;
    RankLayout l = ranks_of(1, 1, 64, 1);
    l.ep = ep;
    const ParallelForecast f = forecast_of({train, l, 1}, cluster_of("HGX-H100-8", 8));
    for (const Exchange& e : f.exchanges)
      if (e.experts) return e.experts->most_nodes;
    return -1;
  };
  EXPECT_EQ(nodes("DeepSeek-V3", 64), 4);  // eight groups on eight nodes, four of them
  EXPECT_EQ(nodes("DeepSeek-V3", 32), 4);  // two groups a node: four may be four nodes
  EXPECT_EQ(nodes("DeepSeek-V3", 8), 0);   // one node
  EXPECT_EQ(nodes("Qwen3-30B-A3B", 64), 0);
}

// Gradients go the other way: what was dispatched is summed, what was summed is dispatched.
TEST(ExpertTokens, TravelInEightBitsAndComeBackInSixteen) {
  auto train = run_of("DeepSeek-V3", EngineKind::cudagraph, Mode::train, {{64, 512, 0}});
  train.training.token_dispatch = TokenDispatch::deepep_fp8;
  RankLayout l = ranks_of(1, 1, 64, 1);
  l.ep = 64;
  const ParallelForecast f = forecast_of({train, l, 1}, cluster_of("HGX-H100-8", 8));
  int seen = 0;
  for (const Exchange& e : f.exchanges) {
    if (!e.experts) continue;
    const bool there = e.name == "dispatch" || e.name == "combine gradients";
    EXPECT_EQ(e.experts->op, there ? ExchangeOp::dispatch : ExchangeOp::combine) << e.name;
    EXPECT_EQ(e.experts->element(), there ? kFp8Element : kBf16Element) << e.name;
    ++seen;
  }
  EXPECT_EQ(seen, 4);
}

TEST(DualPipe, HidesTokensBehindTheOtherMicroBatch) {
  auto train = run_of("Qwen3-30B-A3B", EngineKind::cudagraph, Mode::train, {{256, 2048, 0}});
  RankLayout l = ranks_of(1, 1, 8, 4);
  l.ep = 8, l.chunks = 2, l.schedule = PipelineSchedule::zero_bubble_v;
  const Cluster nodes = cluster_of("HGX-H100-8", 4);
  const auto tokens = [](const ParallelForecast& f) { return f.axes[static_cast<std::size_t>(Axis::expert)]; };
  const ParallelForecast bare = forecast_of({train, l, 1}, nodes);
  l.schedule = PipelineSchedule::dual_pipe_v;
  const ParallelForecast dual = forecast_of({train, l, 1}, nodes);
  EXPECT_EQ(tokens(bare).exposed, tokens(bare).total);
  expect_same(tokens(dual).total.base(), tokens(bare).total.base(), "as many travel");
  EXPECT_LT(tokens(dual).exposed, tokens(dual).total * 0.5);
  EXPECT_LT(dual.step, bare.step);
  // Megatron's overlap within a schedule of one's own: a micro-batch more is kept.
  l.schedule = PipelineSchedule::one_f_one_b, l.chunks = 1;
  const ParallelForecast plain = forecast_of({train, l, 1}, nodes);
  train.training.dispatch_beside = true;
  const ParallelForecast beside = forecast_of({train, l, 1}, nodes);
  EXPECT_LT(beside.step, plain.step);
  EXPECT_NEAR(beside.stages[0].memory.activations / plain.stages[0].memory.activations, 5.0 / 4, 0.05);
}

TEST(Together, TakesTheExchangesShareOfTheGpu) {
  // 10 ms of computing, 4 ms of exchange on a tenth of the GPU: 0.4 ms of computing are lost.
  EXPECT_NEAR(together(milliseconds(10), milliseconds(4), 0.1).base(), 10.4e-3, 1e-12);
  EXPECT_NEAR(together(milliseconds(1), milliseconds(4), 0.1).base(), 4e-3, 1e-12);
  EXPECT_EQ(together(milliseconds(3), seconds(0), 0.1), milliseconds(3));
}

}  // namespace
}  // namespace tilecast
