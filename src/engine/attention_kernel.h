// Which attention kernel an engine runs; plans and learned corrections both depend on it.
#pragma once

#include "engine/kinds.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"

namespace tilecast {

// The shape as the engine requests it: its algorithm if the card does not decide, and no window if none binds. `form`
// counts where PyTorch runs it.
Shape attention_as(Shape shape, EngineKind kind, EngineEra era, AttentionForm form = AttentionForm::fused);

// The kernel's name in measured tables, if it does not depend on the card; otherwise empty.
KernelSource attention_source(const Shape& shape, EngineKind kind, EngineEra era,
                              AttentionForm form = AttentionForm::fused);
// ... if it does: what the engine chooses on this card. Empty for other kernels.
KernelSource attention_source_on(const Gpu& gpu, const Shape& shape, const Launcher& engine);
// ... of fp32, which neither cuDNN's nor FlashAttention's kernels take.
KernelSource wide_attention_source_on(const Gpu& gpu, const Shape& shape, const Launcher& engine);

// The time of an era's kernel relative to the priced one.
double attention_longer(const Shape& shape, EngineKind kind, EngineEra era);
double attention_longer_on_hopper(const Shape& shape, EngineKind kind, EngineEra era);  // ... and beyond that there

}  // namespace tilecast
