// Which attention kernel an engine runs; plans and learned corrections both depend on it.
#pragma once

#include <optional>

#include "engine/kinds.h"
#include "engine/torch_attention.h"
#include "gpu/gpu.h"
#include "kernel/attention.h"
#include "kernel/kernel.h"

namespace tilecast {

bool is_attention(const Shape& shape);  // any but latent attention (MLA)
AttentionAlgorithm algorithm_of(const Shape& attention);
// Forms and algorithms that mean the same kernel; `fused` and `automatic` where there is none.
AttentionForm form_of(AttentionAlgorithm algorithm);
KernelSource source_of(AttentionForm form);

// The form that people mean by a name of a kernel ("flash3", "fa3", "flash_attn_3", "FlashAttention-3"); none if it is
// no such name.
std::optional<AttentionForm> form_named(std::string_view name);
// A kernel named so by people, under the name that tables have for the engine's; others stay.
KernelSource attention_source_named(const KernelSource& source, const Launcher& engine, bool decode);

// vLLM's and SGLang's kernel of that form; none if the engine has no such backend.
std::optional<KernelSource> served_source(EngineKind kind, AttentionForm form, bool decode);
// Whether the engine has it and the card runs it. The error names the field "attention".
Status check_attention(AttentionForm form, EngineKind kind, const Gpu& gpu, const Format& format);

// The shape as the engine requests it: its algorithm if the card does not decide, and no window if none binds. `form`
// counts where PyTorch runs it.
Shape attention_as(Shape shape, EngineKind kind, EngineEra era, AttentionForm form = AttentionForm::fused);

// The kernel's name in measured tables, if it does not depend on the card; otherwise empty.
KernelSource attention_source(const Shape& shape, EngineKind kind, EngineEra era,
                              AttentionForm form = AttentionForm::fused);
// ... if it does: what the engine chooses on this card. Empty for other kernels.
KernelSource attention_source_on(const Gpu& gpu, const Shape& shape, const Launcher& engine, const Format& format,
                                 PyTorchVersion torch = {});

// Without an algorithm that the card has no kernel of: engines and frameworks ask for theirs by default, not by card.
Shape attention_that_runs(const Gpu& gpu, Shape shape);

// The time of an era's kernel relative to the priced one.
double attention_longer(const Shape& shape, EngineKind kind, EngineEra era);
double attention_longer_on_hopper(const Shape& shape, EngineKind kind, EngineEra era);  // ... and beyond that there

}  // namespace tilecast
