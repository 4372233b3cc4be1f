// Which attention kernel an engine runs: plans and learned corrections both go by it.
#pragma once

#include "engine/kinds.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"

namespace tilecast {

// The shape as the engine asks for it: its algorithm where the card does not decide, no window where none binds.
// `form` counts where PyTorch runs it.
Shape attention_as(Shape shape, EngineKind kind, EngineEra era, AttentionForm form = AttentionForm::fused);

// The kernel's name in measured tables, where it does not depend on the card; else empty.
KernelSource attention_source(const Shape& shape, EngineKind kind, EngineEra era,
                              AttentionForm form = AttentionForm::fused);
// ... where it does: what the engine chooses on this card. Empty for other kernels.
KernelSource attention_source_on(const Gpu& gpu, const Shape& shape, const Launcher& engine);

// How many times as long as the priced kernel an era's takes.
double attention_longer(const Shape& shape, EngineKind kind, EngineEra era);
double attention_longer_on_hopper(const Shape& shape, EngineKind kind, EngineEra era);  // ... and beyond that there

}  // namespace tilecast
