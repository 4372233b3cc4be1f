// Views of GPUs; each takes values and returns text.
#pragma once

#include <string>
#include <vector>

#include "tilecast/gpu.h"

namespace tilecast {

// A line per GPU.
std::string gpus_table(const std::vector<GpuInfo>& gpus);
// Everything known about one, with sources.
std::string gpu_text(const GpuInfo& gpu);
// "ok: Half, 66 SMs at up to 1980 MHz ...": what a description came to.
std::string gpu_line(const GpuInfo& gpu);
// What each constant is, and where it comes from.
std::string constants_table(const GpuConstants& card);

}  // namespace tilecast
