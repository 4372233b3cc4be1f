// For tests of laws only: shapes around every family's example, the GPUs and types they are tried on, and what is more
// work or a better GPU.
#pragma once

#include <cmath>
#include <optional>
#include <random>
#include <set>

#include "gpu/registry.h"
#include "kernel/family_testing.h"

namespace tilecast {

inline constexpr std::array<std::string_view, 7> kGpus = {"V100-SXM", "A100-SXM-80GB", "L40S",       "H100-SXM",
                                                          "B200",     "MI300X",        "Arc-Pro-B60"};
inline constexpr std::array<std::string_view, 5> kTypes = {"bf16", "fp32", "fp8", "nvfp4", "int4_wo"};
inline constexpr int kVariations = 6;

inline bool is_count(const Family& family, const std::string& name) {
  for (const FieldInfo& field : family.fields)
    if (field.name == name) return field.kind == "count";
  return false;
}

// The example and shapes around it: each count of the example times a power of two, off by a little.
inline std::vector<Shape> shapes_of(const Family& family) {
  const Example example = example_of(family);
  std::mt19937 random(20240607);
  std::vector<Shape> shapes;
  for (int tries = 0; tries < 200 && static_cast<int>(shapes.size()) <= kVariations; ++tries) {
    Dims dims = example.dims;
    for (auto& [name, value] : dims) {
      if (tries == 0 || !is_count(family, name)) continue;
      const double scale = std::exp2(static_cast<int>(random() % 7) - 4);
      const Count jitter = random() % 2 ? static_cast<Count>(random() % 3) - 1 : 0;
      value = std::to_string(std::max<Count>(1, static_cast<Count>(std::stod(value) * scale) + jitter));
    }
    if (const auto shape = shape_from(family.info.name, dims)) shapes.push_back(*shape);
  }
  return shapes;
}

struct Faster {
  const char* what;
  void (*change)(Gpu&);
};
inline constexpr std::array<Faster, 5> kFaster = {{{"DRAM bandwidth", [](Gpu& g) { g.dram.bandwidth *= 2; }},
                                                   {"L2 bandwidth", [](Gpu& g) { g.l2.per_clock *= 2; }},
                                                   {"SMs", [](Gpu& g) { g.sms *= 2; }},
                                                   {"one SM", [](Gpu& g) { g.sms += 1; }},
                                                   {"clock", [](Gpu& g) {
                                                      g.clock.max *= 2;
                                                      g.clock.quoted *= 2;
                                                      g.clock.quoted_vector *= 2;
                                                    }}}};

// Doubling these is not more work: ranks and groups divide it, strides and filters (at equal padding) leave fewer
// results, pages and chunks only cut it differently.
inline bool divides_work(const std::string& field) {
  static const std::set<std::string> known = {
      "ctas",     "tp",       "ep",    "stride",       "dilation",  "groups",  "page-size", "kernel",
      "kernel-h", "kernel-w", "chunk", "convolutions", "registers", "threads", "kv-heads",  "key-heads"};
  return known.contains(field);
}

// The shape with one of its fields doubled; nothing where the family refuses it.
inline std::optional<Shape> doubled(const Shape& shape, const std::string& field) {
  Dims dims = dims_of(shape);
  for (auto& [name, value] : dims)
    if (name == field) value = std::to_string(2 * std::stoll(value));
  const auto more = shape_from(family_of(shape), dims);
  return more ? std::optional<Shape>(*more) : std::nullopt;
}

}  // namespace tilecast
