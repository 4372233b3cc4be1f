// What lies between a request's being sent and its first token: the way there and back, the first step of a cold
// server, operators that no graph holds, and what captured graphs reach.
#include <gtest/gtest.h>

#include "constants/serve.h"
#include "engine/serving_memory.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "model/library.h"
#include "serve/deployment.h"
#include "serve/simulator_testing.h"

namespace tilecast {
namespace {

TEST(FirstToken, TheWayBackDelaysTokensAndTheNextRequest) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  o.concurrency = 1;
  const std::vector<Request> requests = {{seconds(0), 10, 3}, {seconds(0), 10, 3}};
  const auto at_once = simulate(requests, o);
  o.pool.host.reply = milliseconds(5);
  const auto later = simulate(requests, o);
  ASSERT_TRUE(at_once && later);
  for (std::size_t i = 0; i < 2; ++i) {
    const RequestRecord &a = at_once->requests[i], &b = later->requests[i];
    EXPECT_NEAR((b.ttft() - a.ttft()).base(), 5e-3, 1e-9);
    EXPECT_NEAR(b.tpot()->base(), a.tpot()->base(), 1e-9);  // tokens are late alike
  }
  // The client sends the second when the first's last token has come.
  EXPECT_NEAR(later->requests[1].sent.base(), later->requests[0].last.base(), 1e-12);
  EXPECT_NEAR((later->end - at_once->end).base(), 10e-3, 1e-9);
}

// A request that comes while others stream waits for their tokens at every turn of the event loops.
TEST(FirstToken, ThoseWhoStreamHoldUpWhoComes) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  const std::vector<Request> requests = {
      {seconds(0), 10, 7000}, {seconds(0), 10, 7000}, {seconds(1), 10, 3}, {seconds(1.5), 10, 1}};
  const auto free = simulate(requests, o);
  o.pool.host.per_streaming = milliseconds(3);
  const auto held_up = simulate(requests, o);
  ASSERT_TRUE(free && held_up);
  ASSERT_GT(free->requests[1].last.base(), 2);  // both stream all the while
  const auto later = [&](std::size_t i) {
    return (held_up->requests[i].scheduled - free->requests[i].scheduled).base();
  };
  EXPECT_NEAR(later(0), 0, 1e-12);  // nobody streams yet
  EXPECT_NEAR(later(1), 0, 1e-12);
  const double step = free->requests[0].tpot()->base();
  EXPECT_NEAR(later(2), 6e-3, step + 1e-9);  // two do, and steps begin when they begin
  EXPECT_NEAR(later(3), 6e-3, step + 1e-9);  // the third has ended
}

// Tokenisers of replicas work side by side: of two requests at once the second waits for half of the first's time.
TEST(FirstToken, EveryReplicaTokenises) {
  SimulationOptions o;
  o.pool = pool_of(Policy::vllm, 1000);
  o.pool.host.per_request = milliseconds(8);
  const std::vector<Request> requests = {{seconds(0), 10, 1}, {seconds(0), 10, 1}};
  const auto arrives = [&](Count replicas, std::size_t i) {
    o.pool.replicas = replicas;
    const auto run = simulate(requests, o);
    return run ? run->requests[i].scheduled.base() - run->requests[i].sent.base() : -1;
  };
  EXPECT_NEAR(arrives(2, 0), 8e-3, 1e-9);
  EXPECT_NEAR(arrives(2, 1), 12e-3, 1e-9);
  EXPECT_NEAR(arrives(4, 1), 10e-3, 1e-9);
}

TEST(FirstToken, AColdReplicaIsColdOnce) {
  SimulationOptions o;
  o.pool = pool_of(Policy::sglang, 1000);
  o.pool.replicas = 2;
  const std::vector<Request> requests = {
      {seconds(0), 10, 2}, {seconds(0), 10, 2}, {seconds(2), 10, 2}, {seconds(2), 10, 2}};
  const auto warm = simulate(requests, o);
  o.pool.cold_start = milliseconds(500);
  const auto cold = simulate(requests, o);
  ASSERT_TRUE(warm && cold);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR((cold->requests[i].ttft() - warm->requests[i].ttft()).base(), i < 2 ? 0.5 : 0, 1e-9) << i;
  EXPECT_EQ(cold->steps.size(), warm->steps.size());
}

TEST(FirstToken, GraphsReachAsFarAsTheFlagSays) {
  EXPECT_EQ(host_times(EngineKind::vllm, 64, 8192).graphs.back(), 128);    // twice the sequences
  EXPECT_EQ(host_times(EngineKind::vllm, 1024, 8192).graphs.back(), 512);  // and no more than 512
  EXPECT_EQ(host_times(EngineKind::vllm, 4, 8192, 2048).graphs.back(), 2048);
  EXPECT_EQ(host_times(EngineKind::vllm, 4, 1000, 2048).graphs.back(), 992);  // no more than tokens of a step
  EXPECT_EQ(host_times(EngineKind::sglang, 256, 8192).graphs.back(), 256);
  EXPECT_EQ(host_times(EngineKind::sglang, 256, 8192, 128).graphs.back(), 128);
  EXPECT_EQ(host_times(EngineKind::sglang, 256, 8192, 2).graphs.back(), 2);
  EXPECT_EQ(host_times(EngineKind::trtllm, 224, 8192).graphs.back(), 224);  // the largest batch, whatever it is
  EXPECT_EQ(captured_size(host_times(EngineKind::trtllm, 2048, 8192).graphs, 300), 512);
  EXPECT_EQ(host_times(EngineKind::trtllm, 16, 8192).graphs.back(), 128);
  const std::vector<Count> many = host_times(EngineKind::sglang, 256, 8192, 512).graphs;
  EXPECT_EQ(captured_size(many, 257), 272);  // every sixteenth beyond 256
  EXPECT_EQ(many.back(), 512);
}

// SGLang captures more, and keeps more memory free, on servers of four ranks and more.
TEST(FirstToken, SglangCapturesByCardAndRanks) {
  EXPECT_EQ(sglang_graph_batch(*load_gpu("L40S"), 1), 32);
  EXPECT_EQ(sglang_graph_batch(*load_gpu("L40S"), 4), 160);
  EXPECT_EQ(sglang_graph_batch(*load_gpu("H100-SXM"), 2), 256);
  EXPECT_EQ(sglang_graph_batch(*load_gpu("H100-SXM"), 4), 512);
  EXPECT_EQ(sglang_graph_batch(*load_gpu("B200"), 1), 512);
  const Gpu b200 = *load_gpu("B200");
  ServingLimits limits = default_limits(EngineKind::sglang, b200);
  const auto share = [&] {
    const CacheBudget b = cache_budget(EngineKind::sglang, b200, limits, {}, 128256);
    return b.usable / (b.visible - b.other);
  };
  const double one = share();
  limits.ranks = limits.attention_dp = 8;
  // 7 more eighths of a GiB, and 4.5 MiB of every captured sequence of every rank
  const double mib = in_mebibytes(visible_memory(b200));
  EXPECT_NEAR(one - share(), (7 * 128 + 4.5 * 512 * 8) / mib, 0.0011);
}

Count launches_of(const char* model, EngineKind engine, const char* dtype = "bf16") {
  DeploymentOptions d;
  d.model = *find_model(model);
  d.gpu = *find_gpu("H200-SXM");
  d.engine.kind = engine;
  d.engine.precision = *precision_from(dtype);
  const auto rank = whole_model(d, Method::roofline, nullptr);
  EXPECT_TRUE(rank);
  return rank ? rank->launches : 0;
}

TEST(FirstToken, SglangCallsWhatIsAroundExpertsAndLatentAttention) {
  using namespace constants;
  EXPECT_EQ(launches_of("Llama-3.1-8B", EngineKind::sglang), 32 * kLayerCalls);
  EXPECT_EQ(launches_of("Qwen3-30B-A3B", EngineKind::sglang), 48 * (kLayerCalls + kExpertCalls));
  EXPECT_EQ(launches_of("Qwen3-30B-A3B", EngineKind::vllm), 48 * kLayerCalls);
  // Of DeepSeek-V2-Lite's 27 layers all have latent attention and the first has no experts.
  EXPECT_EQ(launches_of("DeepSeek-V2-Lite", EngineKind::sglang), 27 * (kLayerCalls + kLatentCalls) + 26 * kExpertCalls);
}

// By hand: four products of a dense layer, three and two shared ones beside the experts of Qwen 3.5's linear attention.
TEST(FirstToken, SglangCallsWhatQuantises) {
  using namespace constants;
  const auto more = [](const char* model, const char* dtype, EngineKind engine = EngineKind::sglang) {
    return launches_of(model, engine, dtype) - launches_of(model, engine);
  };
  EXPECT_EQ(more("Llama-3.1-8B", "fp8"), 32 * 4);
  EXPECT_EQ(more("Llama-3.1-8B", "int4_wo"), 0);  // weights alone
  EXPECT_EQ(more("Llama-3.1-8B", "fp8", EngineKind::vllm), 0);
  EXPECT_EQ(more("Qwen3-30B-A3B", "fp8_block"), 48 * (2 + 1));
  EXPECT_EQ(more("Qwen3.5-397B-A17B", "fp8_block"), 45 * (3 + 1 + 2) + 15 * (2 + 1 + 2));
}

// Shared experts' calls stay in the list, so that steps of few and of many tokens have the same names.
TEST(FirstToken, SharedExpertsRunBesideRoutedOnesInSmallSteps) {
  Program program;
  program.sections.push_back({"layer"});
  const auto call = [&](Shape shape, Role role) {
    KernelCall c;
    c.kernel.shape = std::move(shape), c.role = role, c.times = 3;
    return c;
  };
  Moe moe;
  const auto times = [&](Count tokens, EngineKind engine, Architecture architecture) {
    moe.tokens = tokens;
    program.calls = {call(moe, Role::other), call(Gemm{}, Role::shared_expert)};
    as_served(program, engine, architecture, 1);
    return program.calls[1].times;
  };
  EXPECT_EQ(times(64, EngineKind::sglang, Architecture::hopper), 0);
  EXPECT_EQ(times(256, EngineKind::vllm, Architecture::blackwell), 0);
  EXPECT_EQ(times(257, EngineKind::vllm, Architecture::blackwell), 3);
  EXPECT_EQ(times(64, EngineKind::sglang, Architecture::cdna3), 3);
  EXPECT_EQ(times(64, EngineKind::trtllm, Architecture::hopper), 3);
  EXPECT_EQ(program.calls[0].times, 3);
}

TEST(FirstToken, ExpertsRunTheKernelThatTheEngineWasTold) {
  Program program;
  KernelCall call;
  call.kernel.shape = Moe{};
  program.calls = {call};
  as_served(program, EngineKind::vllm, Architecture::hopper, 1, KernelSource::named("some_marlin"));
  EXPECT_EQ(program.calls[0].context.kernel_source.text(), "some_marlin");
  as_served(program, EngineKind::vllm, Architecture::hopper, 1);
  EXPECT_EQ(program.calls[0].context.kernel_source.text(), "some_marlin");  // nothing said: as it was
}

}  // namespace
}  // namespace tilecast
