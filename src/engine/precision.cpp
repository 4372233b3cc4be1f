#include "engine/precision.h"

#include <algorithm>
#include <array>
#include <utility>

#include "support/text.h"

namespace tilecast {
namespace {

bool plain(const Format& f) { return f.weight_bits >= 16 && f.activation_bits >= 16; }

using PartField = std::pair<std::string_view, Format Precision::*>;
constexpr std::array<PartField, 5> kParts = {{{"attention", &Precision::projections},
                                              {"mlp", &Precision::linear},
                                              {"shared", &Precision::shared},
                                              {"experts", &Precision::experts},
                                              {"head", &Precision::head}}};

Result<Format> format_of_dtype(std::string_view name) {
  auto format = format_from(name);
  if (!format) return field_error("dtype", format.error().problem, format.error().remedy);
  return format;
}

Precision uniform(const Format& format) {
  Precision p;
  p.set_products(format);
  // TF32 is how products read fp32 tensors; what lies between them is fp32.
  if (format.id == FormatId::tf32) p.activation = full_precision();
  else p.activation = plain(format) ? format : *format_from(format.output == DType::fp16 ? "fp16" : "bf16");
  p.attention = plain(format) ? format : p.activation;
  p.head = p.activation;
  return p;
}

// "experts=mxfp4".
Status set_part(Precision& p, std::string_view item) {
  const std::size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const auto part = std::find_if(kParts.begin(), kParts.end(), [&](const PartField& f) { return f.first == name; });
  if (part == kParts.end())
    return field_error("dtype", "has no part '" + std::string(name) + "'",
                       "attention, mlp, shared, experts or head, for example experts=mxfp4,attention=bf16");
  auto format = format_of_dtype(item.substr(equals + 1));
  if (!format) return std::move(format).error();
  p.*(part->second) = *format;
  return Ok{};
}

Status set_cache(Precision& p, std::string_view cache_dtype, bool fp8_by_default) {
  if (cache_dtype.empty() || cache_dtype == "auto") {
    if (fp8_by_default) p.cache = CacheType::fp8;
  } else if (cache_dtype == "fp8") {
    p.cache = CacheType::fp8;
  } else if (cache_dtype != "same") {
    return field_error("kv-dtype", "must be auto, fp8 or same, not '" + std::string(cache_dtype) + "'",
                       "leave it out for the checkpoint's");
  }
  return Ok{};
}

// Scales of 16 bits, one per group.
Format grouped(Format format, Count group) {
  const bool whole_numbers = format.id == FormatId::int8_wo || format.id == FormatId::int4_wo;
  if (group > 0 && whole_numbers)
    format.weight_bits = (format.id == FormatId::int4_wo ? 4 : 8) + 16.0 / static_cast<double>(group);
  return format;
}

Result<Precision> checkpoint_precision(const ModelSpec& model) {
  auto own = format_of_dtype(model.quantization.empty() ? model.dtype : model.quantization);
  if (!own) return std::move(own).error();
  Precision p = uniform(grouped(*own, model.quantization_group));
  if (model.quantization.empty()) return p;
  p.as_checkpoint = true;
  if (!model.quantized.attention) p.projections = p.activation;
  if (!model.quantized.mlp) p.linear = p.activation;
  if (!model.quantized.shared) p.shared = p.activation;
  if (!model.quantized.experts) p.experts = p.activation;
  return p;
}

// Parts after the first format.
Result<Precision> with_parts(Precision p, const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    if (item.find('=') == std::string::npos)
      return field_error("dtype", "'" + item + "' stands behind parts", "one format first, then part=format");
    if (auto fine = set_part(p, item); !fine) return std::move(fine).error();
  }
  return p;
}

}  // namespace

Format full_precision() { return *format_from("fp32"); }

Result<Precision> precision_from(std::string_view dtype, std::string_view cache_dtype) {
  std::vector<std::string> items = split(dtype, ',');
  const bool parts_only = !items.empty() && items.front().find('=') != std::string::npos;
  auto format = format_of_dtype(parts_only || items.empty() ? "bf16" : items.front());
  if (!format) return std::move(format).error();
  if (!parts_only && !items.empty()) items.erase(items.begin());
  auto p = with_parts(uniform(*format), items);
  if (!p) return p;
  if (auto fine = set_cache(*p, cache_dtype, false); !fine) return std::move(fine).error();
  return p;
}

Result<Precision> precision_of(const ModelSpec& model, std::string_view dtype, std::string_view cache_dtype) {
  const std::string_view own = model.quantization.empty() ? model.dtype : model.quantization;
  std::vector<std::string> items = dtype.empty() ? std::vector<std::string>{} : split(dtype, ',');
  const bool other = !items.empty() && items.front().find('=') == std::string::npos && items.front() != own;
  if (other) return precision_from(dtype, cache_dtype);
  if (!items.empty() && items.front() == own) items.erase(items.begin());
  auto p = checkpoint_precision(model);
  if (!p) return p;
  p = with_parts(*std::move(p), items);
  if (!p) return p;
  if (auto fine = set_cache(*p, cache_dtype, model.fp8_cache); !fine) return std::move(fine).error();
  return p;
}

namespace {

bool is_left_out(Role role, bool experts, const WideProducts& wide) {
  if (experts) return wide.experts;
  switch (mixer_product(role)) {
    case MixerProduct::in:
    case MixerProduct::beside: return wide.mixer_in;
    case MixerProduct::up: return wide.mixer_up;
    case MixerProduct::out: return wide.mixer_out;
    case MixerProduct::index:
    case MixerProduct::cross:
    case MixerProduct::none: break;
  }
  switch (role) {
    case Role::mlp_gate:
    case Role::mlp_up: return wide.gate_up;
    case Role::mlp_down: return wide.down;
    case Role::shared_expert: return wide.shared;
    default: return false;
  }
}

}  // namespace

const Format& product_format(const Operator& op, const Precision& p, const WideProducts& unquantised) {
  const bool experts = op.shape.is<Moe>() || is_expert(op.role);
  if (p.as_checkpoint && is_left_out(op.role, experts, unquantised)) return p.activation;
  if (experts) return p.experts;
  if (class_of(op) == OpClass::head) return op.role == Role::lm_head ? p.head : p.activation;
  if (mixer_product(op.role) != MixerProduct::none) return p.projections;
  switch (op.role) {
    case Role::router:
    case Role::shared_gate:
    case Role::adapter: return p.activation;
    case Role::shared_expert: return p.shared;
    default: return p.linear;
  }
}

std::string text_of(const Precision& p) {
  const std::string_view own = p.linear.name;
  std::string text(own);
  for (const auto& [name, field] : kParts) {
    const Format& part = p.*field;
    const std::string_view usual = field == &Precision::head ? p.activation.name : own;
    if (part.name != usual) text += ", " + std::string(name) + " " + std::string(part.name);
  }
  return text;
}

}  // namespace tilecast
