// Which parts of a layer run forward again before its gradients, and what is kept instead of their results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/graph.h"
#include "model/spec.h"
#include "tilecast/run.h"

namespace tilecast {

// Follows the name of a section that runs forward again.
inline constexpr std::string_view kRecomputedMark = " (recomputed)";

// What recomputation is about: layers, of which a pipeline stage may have a single one.
bool is_layer(const Section& section);

// Which of the requested modules an operator belongs to, in its section; for a module within another (shared experts of
// `moe`), the outer one counts. Empty if it belongs to none.
std::optional<RecomputeModule> module_of(const Operator& op, const Section& section, const Recomputation& recompute);

// Those that a model's layers have.
std::vector<RecomputeModule> modules_in(const ModelSpec& spec);

// The modules that cost little compared with what they free, as far as a model has them: norms, latent up-projections,
// activations of experts (DeepSeek-V3 recomputes the first two, Megatron-Core's guide adds the third).
Recomputation light_recomputation(const ModelSpec& spec);

// "none", "full", "layernorm,moe_act": for use in a sentence.
std::string text_of(const Recomputation& recompute);

// Which of a forward section's operators run again before its gradients; all of a layer's where nothing of it is kept,
// and none outside layers.
std::vector<bool> operators_again(const Section& section, const Recomputation& recompute);

// The activation of experts that are one kernel, if it is recomputed on its own.
bool repeats_activation_alone(const Operator& op, const Section& section, const Recomputation& recompute);

// ... as a section to run before the gradients. `stops_early`: a layer that runs again whole stops once all that
// gradients read is there (TrainingOptions). Empty where nothing does.
Section section_again(const Section& forward, const Recomputation& recompute, bool stops_early);

// Indices of the section's tensors that stay where operators run again: what they and the gradients read and nothing
// that runs again writes, but for what others keep of modules that do not discard it. Of `alternate`, of a layer that
// runs again. With `pointwise_again`, as saved_tensors() has it. Sorted.
std::vector<int> kept_tensors(const Section& section, const Recomputation& recompute, bool pointwise_again = false);

}  // namespace tilecast
