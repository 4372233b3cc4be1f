// Which kernel is this? From its name, its launch and the operator that launched it to a family, a library and, where
// they tell enough, a shape that can be forecast.
//
// Names are looked up in one table of rules (recognise.cpp), operators in another (operator_shapes.cpp): adding a
// kernel is a line.
#pragma once

#include <optional>
#include <string_view>

#include "diagnose/recording.h"
#include "kernel/kernel.h"
#include "tilecast/diagnose.h"

namespace tilecast {

enum class WorkFamily : std::uint8_t {
  gemm,
  convolution,
  attention,
  moe,
  norm,
  softmax,
  pointwise,
  fused,
  reduction,
  layout,
  gather,
  rope,
  cache,
  quantize,
  loss,
  optimizer,
  sampling,
  sort,
  random,
  scan,
  collective,
  transfer,
  fill,
  unknown
};
std::string_view name_of(WorkFamily family);
// "matrix products (cuBLAS, CUTLASS ...)": for people.
std::string_view describe(WorkFamily family);

struct Recognised {
  WorkFamily family = WorkFamily::unknown;
  std::string_view library;  // "cuBLAS"; empty where the name does not tell
  bool by_operator = false;  // the name is not known, only what launched it
};
// `op` may be null.
Recognised recognise(const WorkKind& kind, const OperatorCall* op);

// "nvjet_sm90_tst_192x128_64x5", "vectorized_elementwise_kernel<CUDAFunctor_add>": what people call a kernel.
std::string short_name(std::string_view name);

// A shape of the forecaster's families. `from_launch` ones are lower-grade: padded to whole tiles.
struct ReadShape {
  Kernel kernel;
  ShapeOrigin from = ShapeOrigin::operator_dims;
  bool mask_assumed = false;  // full, because nothing tells: fit to compare two cards, not to judge one by
};
// The family whose time an operator's dims explain, and its shape: aten::mm speaks for its gemm, not for the fill of
// its workspace. `kernel_name` tells what dims do not (TF32, the mask).
struct OperatorShape {
  WorkFamily family;
  ReadShape shape;
};
std::optional<OperatorShape> shape_of_operator(const OperatorCall& op, std::string_view kernel_name);
// Family of what an operator launches, known shape or not.
WorkFamily family_of_operator(std::string_view op);
// From the kernel alone: grid and template arguments.
std::optional<ReadShape> shape_of_launch(const WorkKind& kind);
// "gemm bf16 m=512;n=6144;k=4096" of our own tables.
Result<ReadShape> shape_of_text(std::string_view text);

}  // namespace tilecast
