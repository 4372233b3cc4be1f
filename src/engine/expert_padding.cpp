// Sources:
// - vllm/model_executor/layers/quantization/mxfp4.py, create_weights: under Marlin the model's width to whole 256s and
//   an expert's to whole 128s, under FlashInfer on SM100 both to whole 256s. SGLang's file of that name does the
//   latter.
// - OpenAI's Triton kernels on Hopper swizzle values along the sum. That they lie in whole 256s of it is read off
//   vLLM's log of gpt-oss-120b on an H100 (64.38 GiB, issue 33155 of vllm-project/vllm; 64.3 so), not off their source.
//   The same model under Marlin takes 65.97 GiB (issue 23278; 65.9 so).
#include "engine/expert_padding.h"

#include "support/arithmetic.h"

namespace tilecast {
namespace {

double grown(Count width, Count tile) { return real(ceil_div(width, tile) * tile) / real(width); }

// Values alone, along the sum: of the first products the model's width, of the last an expert's.
double along_the_sum(const Moe& m, const Format& format, Count tile) {
  constexpr double kValueBits = 4;
  const double first = m.gated ? 2.0 / 3 : 1.0 / 2;
  const double values = first * grown(m.hidden, tile) + (1 - first) * grown(m.local_inter(), tile);
  return (kValueBits * values + format.weight_bits - kValueBits) / format.weight_bits;
}

}  // namespace

double padded_experts(const Moe& m, const Format& format, EngineKind engine, const Gpu& gpu) {
  const bool knows = engine == EngineKind::vllm || engine == EngineKind::sglang;
  if (format.id != FormatId::mxfp4 || !knows || gpu.vendor != Vendor::nvidia) return 1;
  if (gpu.tensor_generation() == TensorGeneration::tcgen05) return grown(m.hidden, 256) * grown(m.local_inter(), 256);
  if (gpu.tensor_generation() == TensorGeneration::wgmma) return along_the_sum(m, format, 256);
  return engine == EngineKind::vllm ? grown(m.hidden, 256) * grown(m.local_inter(), 128) : 1;
}

}  // namespace tilecast
