#include "serve/launch_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::Not;

LaunchOptions options_of(EngineKind engine, int tp, Count copies) {
  LaunchOptions o;
  o.model = "org/model";
  o.engine = engine;
  o.dtype = "bf16";
  o.layout.tp = tp;
  o.copies = copies;
  o.limits.max_sequences = 256, o.limits.max_tokens = 8192, o.limits.chunk = 4096;
  return o;
}
std::string all_of(const LaunchOptions& o) {
  std::string text;
  for (const std::string& line : launch_lines(o)) text += line + "\n";
  return text;
}

TEST(ServeLaunch, Vllm) {
  LaunchOptions o = options_of(EngineKind::vllm, 4, 2);
  o.dtype = "fp8", o.kv_dtype = "fp8", o.context_limit = 4096;
  EXPECT_EQ(all_of(o),
            "vllm serve org/model --tensor-parallel-size 4 --data-parallel-size 2 --max-num-seqs 256 "
            "--max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16 --quantization fp8 "
            "--kv-cache-dtype fp8 --max-model-len 4096 --port 8000\n");
  o.quantised = true;
  EXPECT_THAT(all_of(o), Not(HasSubstr("--quantization")));
  // Data parallel ranks of a model with experts share them: copies are servers of their own.
  o.experts = true;
  EXPECT_THAT(all_of(o), HasSubstr("for i in $(seq 0 1); do CUDA_VISIBLE_DEVICES=$((4 * i + 0)),$((4 * i + 1)),"));
  EXPECT_THAT(all_of(o), Not(HasSubstr("--data-parallel-size")));
  o.layout = {}, o.layout.dp = o.layout.ep = 8, o.copies = 1;
  EXPECT_THAT(all_of(o), HasSubstr("--data-parallel-size 8 --enable-expert-parallel"));
  o.role = ServerRole::prefill;
  EXPECT_THAT(all_of(o), HasSubstr("'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_producer\"}' --port 8100"));
}

TEST(ServeLaunch, Sglang) {
  LaunchOptions o = options_of(EngineKind::sglang, 2, 3);
  o.block_tokens = 1, o.memory_fraction = 0.8765, o.kv_dtype = "fp8";
  EXPECT_EQ(all_of(o),
            "python -m sglang.launch_server --model-path org/model --tp-size 2 --dp-size 3 --max-running-requests 256 "
            "--chunked-prefill-size 4096 --max-prefill-tokens 8192 --mem-fraction-static 0.876 --page-size 1 "
            "--kv-cache-dtype fp8_e4m3 --port 30000\n");
  // Attention of each rank its own: flags count all ranks together.
  o.layout = {}, o.layout.dp = o.layout.ep = 4, o.copies = 1, o.experts = true;
  EXPECT_THAT(all_of(o), HasSubstr("--tp-size 4 --dp-size 4 --enable-dp-attention --ep-size 4 --max-running-requests "
                                   "1024 --chunked-prefill-size 16384 "));
  o.role = ServerRole::decode;
  EXPECT_THAT(all_of(o), HasSubstr("--disaggregation-mode decode --disaggregation-transfer-backend nixl"));
}

TEST(ServeLaunch, Trtllm) {
  LaunchOptions o = options_of(EngineKind::trtllm, 1, 2);
  o.limits.policy = Policy::trtllm_no_evict, o.limits.chunked_prefill = false, o.kv_dtype = "fp8", o.block_tokens = 32;
  EXPECT_EQ(
      all_of(o),
      "cat > serve.yaml <<'END'\ncuda_graph_config:\n  enable_padding: true\n  max_batch_size: 256\n"
      "kv_cache_config:\n  tokens_per_block: 32\n  dtype: fp8\nscheduler_config:\n  capacity_scheduler_policy: "
      "GUARANTEED_NO_EVICT\nEND\nfor i in $(seq 0 1); do CUDA_VISIBLE_DEVICES=$i trtllm-serve org/model --backend "
      "pytorch --max_batch_size 256 --max_num_tokens 8192 --kv_cache_free_gpu_memory_fraction 0.9 --config "
      "serve.yaml --port $((8000 + i)) & done\n");
  o.limits.chunked_prefill = true;
  EXPECT_THAT(all_of(o), HasSubstr("--enable_chunked_prefill"));
  o.dtype = "fp8";
  EXPECT_THAT(all_of(o), HasSubstr("# TensorRT-LLM does not quantise by itself"));
}

TEST(ServeLaunch, CopiesOverNodes) {
  LaunchOptions o = options_of(EngineKind::vllm, 2, 11);
  const auto lines = launch_lines(o);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "# on 2 nodes each:");
  EXPECT_THAT(lines[1], HasSubstr("--data-parallel-size 4 "));
  EXPECT_EQ(lines[2], "# on one more:");
  EXPECT_THAT(lines[3], HasSubstr("--data-parallel-size 3 "));
  o.layout.tp = 8, o.layout.pp = 2, o.copies = 1;
  EXPECT_THAT(launch_lines(o).front(), HasSubstr("2 nodes a server"));
}

}  // namespace
}  // namespace tilecast
