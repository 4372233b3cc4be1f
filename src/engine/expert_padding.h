// Experts in four bits lie padded in an engine's memory: its kernels take whole tiles, and gpt-oss' widths are none.
#pragma once

#include "engine/kinds.h"
#include "gpu/gpu.h"
#include "kernel/format.h"
#include "kernel/moe.h"

namespace tilecast {

// Bytes of a rank's experts as the engine keeps them, over those of the checkpoint. 1 where nothing is known.
double padded_experts(const Moe& experts, const Format& format, EngineKind engine, const Gpu& gpu);

}  // namespace tilecast
