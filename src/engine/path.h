// The kernel an engine would choose for a product on a card, where its format alone does not say.
//
// Formats name what a checkpoint holds. Which products run on it depends on the card: four-bit weights meet activations
// of eight bits on Blackwell and of sixteen before it. Tables of measurements also hold kernels that a collector
// happened to start and nobody would serve with; those are not what an engine is priced by.
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

// A product of narrow training, whose operands were cast before, by the vendor's library (cuBLASLt, hipBLASLt). On
// cards where nobody measured it under PyTorch, the same product under an engine stands for it.
ChosenPath narrow_path(const Gpu& gpu, const Kernel& kernel);

// Whether the tensor cores read fp8 operands in any layout; Hopper and Ada want both along the sum.
bool multiplies_any_layout(const Gpu& gpu);

// One line for each part that runs as something else than its format's name, for people.
std::vector<std::string> path_notes(const Precision& precision, bool has_experts, const Gpu& gpu, EngineKind engine);

// What a card that multiplies fp16 on tensor cores and bf16 on none makes of bf16 (Volta, Turing); empty elsewhere.
std::string emulated_note(const Precision& precision, const Gpu& gpu);

// Why an engine refuses a rank's experts with scales of blocks, whose width has to be whole blocks:
// "Qwen3-235B-A22B-FP8 over tp 8". `rank`: the model as one rank holds it. Empty where it takes them.
std::string refused_blocks(const ModelSpec& rank, const Precision& precision, EngineKind engine);

// What the engine has to be told for the paths of a run: variables ("NAME=value"), or lines of TensorRT-LLM's
// configuration ("moe_config.backend: TRTLLM"). What starts a server has to say them, or it runs something else.
std::vector<std::string> path_flags(const Precision& precision, bool has_experts, const Gpu& gpu, EngineKind engine);

// Whether a card has kernels for all products of a run.
bool runs_on(const Gpu& gpu, const Precision& precision, bool has_experts, EngineKind engine);

// Formats of as many bits or more that the same card runs, to be set beside a run's own: empty where that has sixteen.
std::vector<Precision> wider_formats(const Precision& precision, bool has_experts, const Gpu& gpu, EngineKind engine);

// Says where a wider format is forecast faster, and names the fastest; empty where the narrow one is worth its bits.
struct TimedFormat {
  Precision precision;
  Seconds time;
};
std::string slower_than_wider(const TimedFormat& own, const std::vector<TimedFormat>& wider);

}  // namespace tilecast
