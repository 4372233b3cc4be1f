// Engines on AMD's cards: gaps between kernels of HIP graphs; and vLLM of 2024 on CDNA3, as its releases for ROCm ran,
// with untuned products and its own rule for paged attention.
#pragma once

#include "engine/engine.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"

namespace tilecast {

// CDNA3 alone: no measurement shows that older cards ran this way, and MI250's runs of that year do not look like it.
bool is_rocm_2024(const Program& program, const Gpu& gpu);

// What the host and launching add to the program's kernels on this card: the engine's own cost, except for served steps
// in HIP graphs (vLLM and SGLang on CDNA3 and its successor), whose kernels start further apart than in CUDA graphs.
HostCost host_on(const Gpu& gpu, const Program& program);

// The attention kernel's source; empty for other shapes.
KernelSource rocm_2024_attention(const Shape& shape);

// The least time of an untuned product with few rows; empty for other kernels.
Seconds untuned_product(const Kernel& kernel, const Gpu& gpu);

}  // namespace tilecast
