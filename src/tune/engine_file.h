// The files in which vLLM and SGLang look for tuned configurations of their fused-MoE kernel: an object from tokens to
// a configuration, under a name that says which layer and card it is for. Engines take the entry nearest to their
// tokens.
//
//   E=128,N=768,device_name=NVIDIA_H200.json
//   {"16": {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, ..., "num_stages": 4}, "4096": {...}}
#pragma once

#include <map>
#include <string>

#include "kernel/format.h"
#include "tilecast/result.h"
#include "tune/triton_config.h"

namespace tilecast {

struct EngineFileName {
  std::string vllm;    // vLLM 0.11 and later look for it in $VLLM_TUNED_CONFIG_FOLDER (fused_moe.py)
  std::string sglang;  // SGLang 0.5: $SGLANG_MOE_CONFIG_DIR/configs/triton_X_Y_Z/ (fused_moe_triton_config.py)
};

// `experts` and `inter` of one rank; `device` as torch.cuda.get_device_name() says it. Formats without a name of their
// own are an error.
Result<EngineFileName> engine_file_name(Count experts, Count inter, const std::string& device, const Format& format);

// What the driver calls a card; an error where its description does not tell.
Result<std::string> device_name_of(const Gpu& gpu);

std::string engine_file_text(const std::map<Count, TritonConfig>& by_tokens);

// "3.6.0" -> "triton_3_6_0".
Result<std::string> triton_folder(const std::string& version);

}  // namespace tilecast
