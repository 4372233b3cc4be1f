#include "engine/cache_block.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

Gpu gpu_named(const char* name) { return *load_gpu(name); }
ModelSpec model_named(const char* name) { return *find_model(name); }

struct Case {
  EngineKind engine;
  const char *gpu, *model;
  Count asked, tokens;
};

// As the engines' own start says: "Forcing kv cache block size to 64 for FlashMLA backend", "TensorRT-LLM MLA only
// supports page_size of 32 or 64, changing page_size from 1 to 64", "Change tokens_per_block to: 64".
TEST(CacheBlock, IsWhatTheAttentionKernelTakes) {
  using enum EngineKind;
  for (const Case& c : {
           Case{vllm, "H100-SXM", "DeepSeek-V3", 0, 64}, {vllm, "H100-SXM", "DeepSeek-V3", 16, 64},
           {vllm, "H100-SXM", "DeepSeek-V3", 128, 128},  {vllm, "B200", "DeepSeek-V3", 0, 64},
           {vllm, "B200", "DeepSeek-V3", 32, 32},        {vllm, "H100-SXM", "DeepSeek-V3.2", 128, 64},
           {vllm, "L40S", "DeepSeek-V2-Lite", 0, 16},    {vllm, "MI300X", "DeepSeek-V3", 0, 16},
           {vllm, "B200", "Llama-3.1-8B", 0, 16},        {sglang, "B200", "DeepSeek-V3", 0, 64},
           {sglang, "B200", "DeepSeek-V3", 32, 32},      {sglang, "B200", "DeepSeek-V3", 128, 64},
           {sglang, "H100-SXM", "DeepSeek-V3", 0, 1},    {sglang, "H100-SXM", "DeepSeek-V3.2", 0, 64},
           {sglang, "B200", "Llama-3.1-8B", 0, 64},      {sglang, "B200", "Llama-3.1-8B", 16, 16},
           {sglang, "H100-SXM", "Llama-3.1-8B", 0, 1},   {sglang, "MI300X", "DeepSeek-V3", 0, 1},
           {trtllm, "H100-SXM", "DeepSeek-V3", 0, 64},   {trtllm, "B200", "DeepSeek-V3", 0, 32},
           {trtllm, "H100-SXM", "Llama-3.1-8B", 0, 32},
       }) {
    const CacheBlock block = cache_block(c.engine, gpu_named(c.gpu), model_named(c.model), c.asked);
    EXPECT_EQ(block.tokens, c.tokens) << name_of(c.engine) << " " << c.gpu << " " << c.model << " " << c.asked;
    EXPECT_EQ(block.kernel.empty(), c.asked > 0 ? c.asked == c.tokens : block.tokens <= 32) << c.model;
  }
  // Keys over ranks: CUTLASS' kernels, since FlashInfer's do not return what joins their parts.
  EXPECT_EQ(cache_block(EngineKind::vllm, gpu_named("B200"), model_named("DeepSeek-V3"), 0, true).tokens, 128);
}

}  // namespace
}  // namespace tilecast
