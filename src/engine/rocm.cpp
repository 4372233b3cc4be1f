#include "engine/rocm.h"

#include "constants/engine.h"
#include "kernel/attention_decode.h"
#include "kernel/gemm.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

bool is_rocm_2024(const Program& program, const Gpu& gpu) {
  return gpu.architecture == Architecture::cdna3 && program.engine == EngineKind::vllm &&
         program.era == EngineEra::year_2024;
}

HostCost host_on(const Gpu& gpu, const Program& program) {
  HostCost host = program.host;
  const bool graphs = program.engine == EngineKind::vllm || program.engine == EngineKind::sglang;
  if (!graphs || !gpu.cdna3_or_later()) return host;
  host.switching = microseconds(kHipGraphSwitch);
  if (is_rocm_2024(program, gpu)) host.per_sequence = microseconds(kRocm2024Sequence);
  return host;
}

// The plain kernel if requests times heads exceed 512, since there is enough work to distribute; otherwise the one that
// splits keys, which ROCm's fork had replaced with its own. Prompts ran Triton's flash attention by default.
KernelSource rocm_2024_attention(const Shape& shape) {
  if (const auto* a = shape.get_if<AttentionDecode>()) {
    const Count requests = a->lens.empty() ? a->batch : static_cast<Count>(a->lens.size());
    return requests * a->heads > kPagedHeads ? KernelSource::vllm_paged_attention_v1
                                             : KernelSource::rocm_paged_attention_2024;
  }
  return shape.is<AttentionPrefill>() ? KernelSource::rocm_triton_attention : KernelSource::unsaid;
}

// rocBLAS's choice for few rows has tiles of 32, or 16, rows and reads all weights again for every tile. A single row
// has a separate kernel (LLMM1).
Seconds untuned_product(const Kernel& kernel, const Gpu& gpu) {
  const auto* p = kernel.shape.get_if<Gemm>();
  const bool halves = kernel.format.id == FormatId::bf16 || kernel.format.id == FormatId::fp16;
  if (!p || !halves || p->m <= 1 || p->m > kUntunedMost) return seconds(0);
  const Count row_bytes = 2 * p->k;
  const Count rows = row_bytes % kUntunedStride == 0 ? kUntunedStridedRows : kUntunedRows;
  const Bytes weights = bytes(static_cast<double>(p->n) * static_cast<double>(row_bytes));
  return weights * static_cast<double>(ceil_div(p->m, rows)) / (gpu.dram.bandwidth * kUntunedShare.value);
}

}  // namespace tilecast
