#include "engine/precision.h"

namespace tilecast {
namespace {

bool plain(const Format& f) { return f.weight_bits >= 16 && f.activation_bits >= 16; }

}  // namespace

Format full_precision() { return *format_from("fp32"); }

Result<Precision> precision_from(std::string_view dtype, std::string_view cache_dtype) {
  auto format = format_from(dtype);
  if (!format) return field_error("dtype", format.error().problem, format.error().remedy);
  Precision p;
  p.linear = p.experts = *format;
  // TF32 is how products read fp32 tensors; what lies between them is fp32.
  if (format->name == "tf32") p.activation = full_precision();
  else p.activation = plain(*format) ? *format : *format_from(format->output == DType::fp16 ? "fp16" : "bf16");
  p.attention = plain(*format) ? *format : p.activation;
  if (cache_dtype == "fp8") p.cache = CacheType::fp8;
  else if (!cache_dtype.empty() && cache_dtype != "auto" && cache_dtype != "same")
    return field_error("kv-dtype", "must be auto or fp8, not '" + std::string(cache_dtype) + "'");
  return p;
}

}  // namespace tilecast
