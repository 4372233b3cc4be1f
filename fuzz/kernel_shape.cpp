#include <cmath>

#include "estimate/estimate.h"
#include "gpu/registry.h"
#include "kernel/kernel.h"
#include "support/text.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_kernel_shape(std::string_view input) {
  const auto parts = split(input, '|');
  if (parts.size() != 4) return "";
  const auto dims = dims_from_text(parts[3]);
  if (!dims) return "";
  const auto shape = shape_from(parts[0], *dims);
  if (!shape) return "";
  const auto again = shape_from(family_of(*shape), dims_of(*shape));
  if (!again || dims_text(*again) != dims_text(*shape))
    return "the shape's text does not read back: " + dims_text(*shape);
  const auto format = format_from(parts[1]);
  const auto gpu = find_gpu(parts[2]);
  if (!format || !gpu) return "";
  const Context context;
  const auto planned = plan(Kernel{*shape, *format}, *gpu, context);
  if (!planned) return "";
  const Estimate e = estimate(*planned, *gpu, context, Method::analytic);
  if (!std::isfinite(e.latency.base()) || e.latency.base() < 0) return "the forecast is not a time";
  if (e.latency < e.bound) return "the forecast is below the bound";
  return "";
}

}  // namespace tilecast
