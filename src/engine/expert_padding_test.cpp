#include "engine/expert_padding.h"

#include <gtest/gtest.h>

#include "engine/memory.h"
#include "engine/run.h"
#include "gpu/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

double weights_gib(const char* model, const char* gpu, EngineKind engine) {
  tilecast::Run run;
  run.model = *find_model(model);
  run.workload.mode = Mode::prefill;
  run.workload.requests = {{1, 128, 0}};
  run.engine.kind = engine;
  run.engine.precision = *precision_of(std::get<ModelSpec>(run.model), "", "");
  const auto prepared = prepare(run);
  return in_gibibytes(
      memory_need(prepared->forward, run.workload, run.engine, prepared->cache, {}, *load_gpu(gpu)).weights);
}

// What vLLM says it loaded, in published logs.
TEST(ExpertPadding, WeightsAreThoseOfLogs) {
  EXPECT_NEAR(weights_gib("gpt-oss-120b", "H100-SXM", EngineKind::vllm), 64.38, 0.15);
  EXPECT_NEAR(weights_gib("gpt-oss-120b", "A100-SXM-80GB", EngineKind::vllm), 65.97, 0.15);
}

TEST(ExpertPadding, WholeTiles) {
  Moe m;
  m.tokens = 1, m.hidden = 2880, m.inter = 2880, m.experts = 128, m.topk = 4;
  const Format mxfp4 = *format_from("mxfp4");
  const Gpu b200 = *load_gpu("B200"), a100 = *load_gpu("A100-SXM-80GB"), h100 = *load_gpu("H100-SXM");
  EXPECT_DOUBLE_EQ(padded_experts(m, mxfp4, EngineKind::vllm, b200), 3072.0 * 3072 / (2880.0 * 2880));
  EXPECT_DOUBLE_EQ(padded_experts(m, mxfp4, EngineKind::sglang, b200), 3072.0 * 3072 / (2880.0 * 2880));
  EXPECT_DOUBLE_EQ(padded_experts(m, mxfp4, EngineKind::vllm, a100), 3072.0 * 2944 / (2880.0 * 2880));
  EXPECT_NEAR(padded_experts(m, mxfp4, EngineKind::vllm, h100), (4 * 3072.0 / 2880 + 0.25) / 4.25, 1e-12);
  EXPECT_EQ(padded_experts(m, mxfp4, EngineKind::trtllm, b200), 1);
  EXPECT_EQ(padded_experts(m, *format_from("nvfp4"), EngineKind::vllm, b200), 1);
  m.tp = 2;  // of a rank
  EXPECT_DOUBLE_EQ(padded_experts(m, mxfp4, EngineKind::vllm, a100), 3072.0 * 1536 / (2880.0 * 1440));
  m.hidden = m.inter = 4096, m.tp = 1;
  EXPECT_DOUBLE_EQ(padded_experts(m, mxfp4, EngineKind::vllm, h100), 1);
}

}  // namespace
}  // namespace tilecast
