// Whatever a GPU file holds, parsing it ends in a Gpu or an Error, and a Gpu that was accepted can be forecast on.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "estimate/estimate.h"
#include "gpu/gpu_file.h"
#include "gpu/registry.h"
#include "kernel/kernel.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tilecast;
  const auto gpu = parse_gpu({reinterpret_cast<const char*>(data), size}, "fuzz.json", built_in_gpu_text);
  if (!gpu) return 0;
  const Context context;
  const auto planned = plan(Gemm{512, 512, 512}, *format_from("fp32"), *gpu, context);
  if (!planned) return 0;
  const Estimate e = estimate(*planned, *gpu, context, Method::tilecast);
  if (!std::isfinite(e.latency.base()) || e.latency < e.bound) std::abort();
  return 0;
}
