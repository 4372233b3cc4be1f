// Products of a training step in formats narrower than its parameters: which of them, in which format, and the kernels
// that make their operands.
#pragma once

#include <span>

#include "engine/engine.h"
#include "model/graph.h"

namespace tilecast {

// Bytes a cast moves per number, out of a bf16 copy's four, and whether it first looks for the largest one.
struct CastCost {
  double one_way = 0;        // the result as it lies
  double both_ways = 0;      // and, by the same kernel, so that the other gradient can read it
  bool both_always = false;  // whatever the card: scales differ by direction
  bool finds = false;        // a pass of its own for the absolute maximum
};

// One recipe of kTrainPrecisionNames. Products of attention's projections, of feed-forward blocks and of experts run
// narrow; embeddings, routers, heads and attention itself do not (Megatron Core's low-precision guide).
struct NarrowRecipe {
  TrainPrecision precision;
  Format product;  // its operands were cast before
  CastCost cast;   // Transformer Engine's kernels
  // Hopper: the kernels' time relative to one scale per tensor with fast accumulation.
  double forward_longer = 1, input_longer = 1, weight_longer = 1;
  std::string_view source;
};
std::span<const NarrowRecipe> narrow_recipes();
const NarrowRecipe* narrow_recipe(TrainPrecision precision);  // none: null

// Whether an operator's product takes part in narrow training.
bool runs_narrow(const Operator& op);

// Whose casts: PyTorch's operators one by one, Inductor's kernels, Transformer Engine's.
enum class CastCode : std::uint8_t { eager, compiled, fused };
CastCode cast_code(const EngineOptions& engine);

// The step with its narrow products and their casts. `step` holds all passes, arranged.
Graph with_narrow_products(const Graph& step, const NarrowRecipe& recipe, CastCode code, Count micro_batches);

// Frozen weights kept in four bits are unpacked before each product that reads them (bitsandbytes' dequantize_4bit).
Graph with_unpacking(const Graph& step);

}  // namespace tilecast
