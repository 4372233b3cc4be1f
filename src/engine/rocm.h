// Engines on AMD's cards: gaps between kernels of HIP graphs; and vLLM of 2024 on CDNA3, as its releases for ROCm ran,
// with products that nobody tuned and paged attention by a rule of its own.
#pragma once

#include "engine/engine.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"

namespace tilecast {

// CDNA3 alone: nothing measured says that older cards ran so, and MI250's runs of that year do not look like it.
bool is_rocm_2024(const Program& program, const Gpu& gpu);

// What the host, and launching, add to the program's kernels on this card: the engine's own cost, but where HIP graphs
// hold served steps (vLLM and SGLang on CDNA3 and its successor), whose kernels stand further apart than in CUDA's.
HostCost host_on(const Gpu& gpu, const Program& program);

// The attention kernel's source; empty for other shapes.
KernelSource rocm_2024_attention(const Shape& shape);

// What an untuned product of few rows takes at least; nothing for other kernels.
Seconds untuned_product(const Kernel& kernel, const Gpu& gpu);

}  // namespace tilecast
