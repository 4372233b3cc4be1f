// Whatever a command line or a table's dims hold, a shape is refused or planned, and its forecast is finite and not below
// the bound. Input: "family|dtype|gpu|key=value;key=value".
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "estimate/estimate.h"
#include "gpu/registry.h"
#include "kernel/kernel.h"
#include "support/text.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tilecast;
  const auto parts = split({reinterpret_cast<const char*>(data), size}, '|');
  if (parts.size() != 4) return 0;
  const auto dims = dims_from_text(parts[3]);
  if (!dims) return 0;
  const auto shape = shape_from(parts[0], *dims);
  const auto format = format_from(parts[1]);
  const auto gpu = find_gpu(parts[2]);
  if (!shape || !format || !gpu) return 0;
  const Context context;
  const auto planned = plan(Kernel{*shape, *format}, *gpu, context);
  if (!planned) return 0;
  const Estimate e = estimate(*planned, *gpu, context, Method::tilecast);
  if (!std::isfinite(e.latency.base()) || e.latency < e.bound || e.latency.base() < 0) std::abort();
  return 0;
}
