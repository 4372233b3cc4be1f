#include "gpu/gpu_file.h"

#include <cmath>

#include "estimate/estimate.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "kernel/kernel.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_gpu_file(std::string_view input) {
  const auto gpu = parse_gpu(input, "fuzz.json", built_in_gpu_text);
  if (!gpu) return gpu.error().line().empty() ? "an error without a text" : "";
  const Context context;
  const auto planned = plan(Gemm{512, 512, 512}, *format_from("fp32"), *gpu, context);
  if (!planned) return "";
  const Estimate e = estimate(*planned, *gpu, context, Method::analytic);
  if (!std::isfinite(e.latency.base())) return "the forecast is not finite";
  if (e.latency < e.bound) return "the forecast is below the bound";
  return "";
}

}  // namespace tilecast
