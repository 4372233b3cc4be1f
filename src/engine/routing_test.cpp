#include "engine/routing.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "engine/run.h"
#include "gpu/registry.h"
#include "kernel/moe.h"
#include "model/library.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

Moe layer(Count tokens, Count ep = 1) {
  Moe moe;
  moe.tokens = tokens, moe.hidden = 64, moe.inter = 64, moe.experts = 8, moe.topk = 2, moe.ep = ep;
  return moe;
}
Count sum(const std::vector<Count>& counts) { return std::accumulate(counts.begin(), counts.end(), Count{0}); }

TEST(Routing, IsReadFromText) {
  EXPECT_EQ(routing_from("uniform")->kind, ExpertDistribution::balanced);
  EXPECT_EQ(routing_from("power:1.01")->kind, ExpertDistribution::power_law);
  EXPECT_DOUBLE_EQ(routing_from("power:1.01")->alpha, 1.01);
  for (const char* wrong : {"", "zipf", "power:", "power:x", "power:-1", "counts:/nowhere"})
    EXPECT_FALSE(routing_from(wrong)) << wrong;
  const TestFolder folder;
  const std::string path = folder.file("visits.txt");
  std::ofstream(path) << "4, 2 1\n1,0,0 0 0";
  EXPECT_EQ(routing_from("counts:" + path)->visits, (std::vector<double>{4, 2, 1, 1, 0, 0, 0, 0}));
  std::ofstream(path) << "0 0";
  EXPECT_FALSE(routing_from("counts:" + path));
  std::ofstream(path) << "1 two";
  EXPECT_FALSE(routing_from("counts:" + path));
}

TEST(Routing, MeasuredVisitsKeepTheirSum) {
  Routing measured{ExpertDistribution::given, 1.2, {4, 2, 1, 1, 0, 0, 0, 0}};
  // 200 visits of 100 tokens: half, a quarter and two eighths.
  EXPECT_EQ(routed(layer(100), measured)->counts, (std::vector<Count>{100, 50, 25, 25, 0, 0, 0, 0}));
  // No expert is visited twice by a token: what is above goes to the others.
  measured.visits = {100, 1, 1, 1, 1, 1, 1, 1};
  const Moe capped = *routed(layer(70), measured);
  EXPECT_EQ(capped.counts.front(), 70);
  EXPECT_EQ(sum(capped.counts), 140);
  EXPECT_TRUE(capped.check());
  for (Count tokens = 1; tokens < 50; ++tokens) EXPECT_EQ(sum(routed(layer(tokens), measured)->counts), 2 * tokens);
  // Of two ranks the busier one.
  EXPECT_EQ(routed(layer(70, 2), measured)->counts.size(), 4u);
  EXPECT_GE(sum(routed(layer(70, 2), measured)->counts), 70);
  measured.visits.pop_back();
  EXPECT_EQ(routed(layer(70), measured).error().field, "routing");
}

// Sixteen tokens that visit the same eight experts read an eighth of the weights of those that visit all.
TEST(Routing, NoneBeatsTheBound) {
  tilecast::Run run{*find_model("Qwen3-30B-A3B"), {}, {}, {}};
  run.engine.precision = *precision_from("bf16");
  run.workload.mode = Mode::decode;
  run.workload.requests = {{16, 1, 1000}};
  const Gpu gpu = *find_gpu("H100-SXM");
  const auto step = [&](std::optional<Routing> routing) {
    run.engine.routing = std::move(routing);
    return forecast_run(run, *prepare(run), gpu, Method::analytic, nullptr)->step;
  };
  const Seconds bound = step(std::nullopt).bound;
  Routing few{ExpertDistribution::given, 1.2, std::vector<double>(128, 0.0)};
  for (std::size_t i = 0; i < 8; ++i) few.visits[i] = 1;
  EXPECT_LE(bound.base(), step(few).gpu.base());
  EXPECT_NEAR(bound.base() / step(few).bound.base(), 1, 0.01);
  EXPECT_LE(bound.base(), step(Routing{ExpertDistribution::power_law, 1.2, {}}).gpu.base());
  EXPECT_LT(step(few).gpu.base(), step(Routing{}).gpu.base());
}

// One default for every question about inference; training balances its experts.
TEST(Routing, WhatNobodySaysIsThePowerLawButInTraining) {
  tilecast::Run run{*find_model("Qwen3-30B-A3B"), {}, {}, {}};
  run.engine.precision = *precision_from("bf16");
  run.workload.requests = {{4, 64, 0}};
  for (const Mode mode : {Mode::prefill, Mode::decode, Mode::mixed, Mode::train}) {
    run.workload.mode = mode;
    run.engine.kind = mode == Mode::train ? EngineKind::cudagraph : EngineKind::vllm;
    const auto prepared = prepare(run);
    ASSERT_TRUE(prepared.ok()) << prepared.error().line();
    int experts = 0;
    for (const KernelCall& call : prepared->program.calls)
      if (const auto* moe = call.kernel.shape.get_if<Moe>()) {
        ++experts;
        EXPECT_EQ(moe->distribution == ExpertDistribution::power_law, mode != Mode::train) << call.name;
        EXPECT_EQ(moe->distribution == ExpertDistribution::balanced, mode == Mode::train) << call.name;
      }
    EXPECT_GT(experts, 0);
  }
}

}  // namespace
}  // namespace tilecast
