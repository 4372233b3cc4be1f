// Every kernel family Tilecast knows, as one value type.
//
// Adding a family is one header and one source beside this file, one line in each of the two lists below, and one in
// `Classify` (model/graph.cpp): the class that breakdowns of models list it under. A family that is missing there does
// not compile.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernel/attention_backward.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/context.h"
#include "kernel/conv2d.h"
#include "kernel/copy.h"
#include "kernel/cross_entropy.h"
#include "kernel/custom.h"
#include "kernel/elementwise.h"
#include "kernel/embedding.h"
#include "kernel/gated_activation.h"
#include "kernel/gemm.h"
#include "kernel/kv_write.h"
#include "kernel/layernorm.h"
#include "kernel/mla_decode.h"
#include "kernel/mla_prefill.h"
#include "kernel/moe.h"
#include "kernel/optimizer.h"
#include "kernel/plan.h"
#include "kernel/quantize.h"
#include "kernel/reduction.h"
#include "kernel/rmsnorm.h"
#include "kernel/rope.h"
#include "kernel/sampling.h"
#include "kernel/scan.h"
#include "kernel/softmax.h"
#include "tilecast/result.h"

namespace tilecast {

// clang-format off
using AnyShape = std::variant<
    Gemm,
    Bmm,
    Conv2d,
    AttentionPrefill,
    AttentionDecode,
    AttentionBackward,
    MlaPrefill,
    MlaDecode,
    Moe,
    RmsNorm,
    LayerNorm,
    Softmax,
    Elementwise,
    GatedActivation,
    Reduction,
    Copy,
    Rope,
    Embedding,
    Quantize,
    KvWrite,
    CrossEntropy,
    Optimizer,
    Sampling,
    Scan,
    Custom>;
// clang-format on

// A variant whose copies and ends are compiled once, in kernel.cpp, and not in every source that holds a kernel.
struct Shape : AnyShape {
  using AnyShape::AnyShape;
  using AnyShape::operator=;
  Shape();
  Shape(const Shape&);
  Shape(Shape&&) noexcept;
  Shape& operator=(const Shape&);
  Shape& operator=(Shape&&) noexcept;
  ~Shape();
};

struct Kernel {
  Shape shape;
  Format format;
};

// How a library would run this kernel on this GPU, or why it cannot run there.
Result<Plan> plan(const Kernel& kernel, const Gpu& gpu, const Context& context);

// A field of a family, for help texts.
struct FieldInfo {
  std::string name;
  std::string help;
  Need need = Need::optional;
  std::string kind;  // "count", "number", "yes/no", "list" or the choices "a|b|c"
};
struct Family {
  FamilyInfo info;
  std::vector<FieldInfo> fields;
};

// All families, in the order of the list above.
const std::vector<Family>& families();
// By name; a hyphen stands for an underscore. A miss suggests the nearest.
Result<const Family*> find_family(std::string_view name);

using Dims = std::vector<std::pair<std::string, std::string>>;  // field name -> value, as text

// A checked shape from named values: unknown, missing, malformed, negative or contradictory ones are refused by name.
Result<Shape> shape_from(std::string_view family, const Dims& dims);
std::string_view family_of(const Shape& shape);
// Fields that differ from their defaults, in declaration order: the inverse of shape_from.
Dims dims_of(const Shape& shape);
// "m=4096;n=4096;k=4096"
std::string dims_text(const Shape& shape);
Result<Dims> dims_from_text(std::string_view text);

}  // namespace tilecast
