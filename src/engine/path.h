// The kernel an engine would choose for a product on a card, if the format alone does not determine it.
//
// Formats name what a checkpoint contains. Which products run on it depends on the card: four-bit weights meet
// activations of eight bits on Blackwell and of sixteen before it. Measurement tables also contain kernels that a
// collector happened to run and that would never be used in serving; engines are not priced by those.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/precision.h"
#include "kernel/context.h"
#include "kernel/kernel.h"

namespace tilecast {

struct ChosenPath {
  Format format;                    // what the product runs as
  Launcher engine;                  // whose measurements stand for it
  KernelSource kernel_source = {};  // empty: the engine's most measured
  std::string_view flag = {};       // what the engine has to be told for it; empty: nothing
};

ChosenPath path_on(const Gpu& gpu, const Kernel& kernel, const Launcher& engine);

// The form of a scan that an engine runs there: vLLM calls FlashInfer's gated delta rule and FlashKDA on Hopper and
// data-centre Blackwell, and Triton's kernels elsewhere.
Shape scan_that_runs(const Gpu& gpu, const Launcher& engine, Shape shape);

// A product of narrow training, whose operands were cast before, by the vendor's library (cuBLASLt, hipBLASLt). On
// cards where it was not measured under PyTorch, the same product under an engine stands in for it.
ChosenPath narrow_path(const Gpu& gpu, const Kernel& kernel);

// Whether the tensor cores read fp8 operands in any layout; Hopper and Ada need both along the sum.
bool multiplies_any_layout(const Gpu& gpu);

// One line for people for each part that runs as something other than its format's name.
std::vector<std::string> path_notes(const Precision& precision, bool has_experts, const Gpu& gpu, EngineKind engine);

// How bf16 runs on a card whose tensor cores multiply fp16 but not bf16 (Volta, Turing); empty elsewhere.
std::string emulated_note(const Precision& precision, const Gpu& gpu);

// Why an engine rejects a rank's block-scaled experts, whose width has to be whole blocks: "Qwen3-235B-A22B-FP8 over tp
// 8". `rank`: the model as one rank holds it. Empty if it accepts them.
std::string refused_blocks(const ModelSpec& rank, const Precision& precision, EngineKind engine);

// The settings an engine needs for the paths of a run: variables ("NAME=value"), or lines of TensorRT-LLM's
// configuration ("moe_config.backend: TRTLLM"). Whatever starts a server has to set them, or it runs something else.
std::vector<std::string> path_flags(const Precision& precision, bool has_experts, const Gpu& gpu, EngineKind engine);

// Whether a card has kernels for all products of a run.
bool runs_on(const Gpu& gpu, const Precision& precision, bool has_experts, EngineKind engine);

// Formats with at least as many bits that the same card runs, to compare with a run's own; empty if that has sixteen.
std::vector<Precision> wider_formats(const Precision& precision, bool has_experts, const Gpu& gpu, EngineKind engine);

// Says if a wider format is forecast to be faster, and names the fastest, with what the engine has to be told for it;
// empty if the narrow one pays off.
struct TimedFormat {
  Precision precision;
  Seconds time;
  std::vector<std::string> flags = {};  // path_flags()
};
std::string slower_than_wider(const TimedFormat& own, const std::vector<TimedFormat>& wider);

}  // namespace tilecast
