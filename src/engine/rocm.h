// vLLM of 2024 on AMD's CDNA3, as its releases for ROCm ran: kernels in HIP graphs with gaps between them, products
// that nobody tuned, and paged attention by a rule of its own.
#pragma once

#include "engine/engine.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"

namespace tilecast {

// CDNA3 alone: nothing measured says that older cards ran so, and MI250's runs of that year do not look like it.
bool is_rocm_2024(const Program& program, const Gpu& gpu);

HostCost rocm_2024_host(HostCost elsewhere);

// The attention kernel's source; empty for other shapes.
KernelSource rocm_2024_attention(const Shape& shape);

// What an untuned product of few rows takes at least; nothing for other kernels.
Seconds untuned_product(const Kernel& kernel, const Gpu& gpu);

}  // namespace tilecast
