// The circumstances of a kernel's run that change its time without changing its shape.
#pragma once

#include <string_view>

#include "units/units.h"

namespace tilecast {

// How launches reach the GPU.
enum class Runtime : std::uint8_t { graph, eager };

// Which operands may already lie in the last cache before DRAM when the kernel starts.
enum class Warmth : std::uint8_t {
  model,  // inside a model: weights come cold from DRAM, activations warm as far as they fit
  warm,   // a benchmark that reuses its buffers: whatever fits is warm
  cold,   // caches flushed: everything comes from DRAM
};

struct Context {
  Runtime runtime = Runtime::graph;
  Warmth warmth = Warmth::model;
  // Benchmarks rotate copies of the weights (vLLM and SGLang collectors 6) or of all inputs to cool them; with
  // Warmth::warm.
  int weight_copies = 1;
  int activation_copies = 1;
  // Who launches, and which of its kernels, where known ("vllm", "vllm_flash_attn_fa3"): engines differ in the helper
  // kernels around a kernel and in the kernel itself. Static or interned text.
  std::string_view engine, kernel_source;
};

constexpr std::string_view name_of(Runtime r) { return r == Runtime::graph ? "graph" : "eager"; }
constexpr std::string_view name_of(Warmth w) {
  return w == Warmth::model ? "model" : w == Warmth::warm ? "warm" : "cold";
}

}  // namespace tilecast
