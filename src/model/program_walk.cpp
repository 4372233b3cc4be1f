// How PyTorch walks the tensors of a pointwise or copying kernel.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel/copy.h"
#include "kernel/custom.h"
#include "kernel/elementwise.h"
#include "model/onnx_rules.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

// Strides of an operand over the result's axes: 0 where it is broadcast.
std::vector<Count> strides_over(const ProgramLayout& operand, const std::vector<Count>& shape) {
  std::vector<Count> strides(shape.size(), 0);
  const std::size_t own = std::min(operand.shape.size(), shape.size());
  for (std::size_t back = 1; back <= own; ++back) {
    const std::size_t from = operand.shape.size() - back, to = shape.size() - back;
    if (operand.shape[from] == shape[to] && shape[to] != 1) strides[to] = operand.strides[from];
  }
  return strides;
}

// Axes of more than one element, fastest first by the result's strides and then by the others'.
std::vector<std::size_t> axes_in_order(const std::vector<Count>& shape,
                                       const std::vector<std::vector<Count>>& strides) {
  std::vector<std::size_t> axes;
  for (std::size_t i = shape.size(); i-- > 0;)
    if (shape[i] != 1) axes.push_back(i);
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) {
    for (const auto& operand : strides) {
      if (operand[a] == 0 || operand[b] == 0) continue;
      if (operand[a] != operand[b]) return operand[a] < operand[b];
    }
    return false;
  });
  return axes;
}

// Axes joined: their sizes, and the strides of each operand.
struct Joined {
  std::vector<Count> sizes;
  std::vector<std::vector<Count>> strides;  // by operand
};
Joined join_axes(const std::vector<Count>& shape, const std::vector<std::vector<Count>>& strides) {
  Joined joined;
  joined.strides.resize(strides.size());
  for (const std::size_t axis : axes_in_order(shape, strides)) {
    bool fits = !joined.sizes.empty();
    for (std::size_t i = 0; fits && i < strides.size(); ++i)
      fits = strides[i][axis] == joined.strides[i].back() * joined.sizes.back();
    if (fits) {
      joined.sizes.back() *= shape[axis];
      continue;
    }
    joined.sizes.push_back(shape[axis]);
    for (std::size_t i = 0; i < strides.size(); ++i) joined.strides[i].push_back(strides[i][axis]);
  }
  return joined;
}

bool is_one_run(const Joined& joined) {
  if (joined.sizes.empty()) return true;
  if (joined.sizes.size() > 1) return false;
  return std::all_of(joined.strides.begin(), joined.strides.end(), [](const auto& s) { return s.front() == 1; });
}

TorchWalk conversion_walk(double read, double written, bool contiguous) {
  if (written > read) return contiguous ? TorchWalk::widen : TorchWalk::strided_widen;
  if (written < read && contiguous) return TorchWalk::narrow;
  return contiguous ? TorchWalk::vectorized : TorchWalk::strided;
}

}  // namespace

IteratorWalk iterator_walk(std::span<const ProgramLayout* const> operands) {
  IteratorWalk walk;
  if (operands.empty()) return walk;
  const std::vector<Count>& shape = operands.front()->shape;
  std::vector<std::vector<Count>> strides;
  strides.reserve(operands.size());
  for (const ProgramLayout* operand : operands) strides.push_back(strides_over(*operand, shape));
  const Joined joined = join_axes(shape, strides);
  walk.contiguous = is_one_run(joined);
  walk.inner = joined.sizes.empty() ? 1 : joined.sizes.front();
  walk.axes = static_cast<int>(joined.sizes.size());
  for (std::size_t i = 1; i < operands.size() && !joined.sizes.empty(); ++i) {
    const bool whole = distinct_elements(*operands[i]) == elements_of(*operands.front());
    if (whole && joined.strides[i].front() > 1 && joined.strides[0].front() == 1) walk.transposed = true;
  }
  walk.walk = walk.contiguous ? TorchWalk::vectorized : TorchWalk::strided;
  return walk;
}

void add_copy(KernelList& list, const ProgramLayout& to, const ProgramLayout& from) {
  const ProgramLayout* operands[] = {&to, &from};
  const IteratorWalk walk = iterator_walk(operands);
  const Count elements = elements_of(to);
  if (elements == 0) return;
  const double read = element_bytes(from.dtype), written = element_bytes(to.dtype);
  const bool same = from.dtype == to.dtype;
  const PricedAs priced = priced_as(from.dtype);
  const auto scaled = static_cast<Count>(std::ceil(static_cast<double>(elements) * priced.elements));
  if (same && walk.transposed && priced.elements == 1) {
    Copy shape;
    shape.rows = walk.inner, shape.cols = elements / std::max<Count>(1, walk.inner), shape.transpose = true;
    list.add("transposing copy", shape, priced.format);
    return;
  }
  if (same) {
    if (distinct_elements(from) < elements) {  // expanded: little is read
      list.add_pass("copy", bytes_of(from), bytes_of(to), written, TorchWalk::strided, PointwiseOp::copy);
      return;
    }
    Copy shape;
    shape.elements = scaled;
    ProgramKernel& copy = list.add("copy", shape, priced.format, walk.walk);
    if (!walk.contiguous) copy.manner = Manner::strided, copy.axes = walk.axes;
    return;
  }
  const TorchWalk how = conversion_walk(read, written, walk.contiguous);
  const bool halves = read * 2 == written || written * 2 == read;
  const bool floats = is_floating(from.dtype) && is_floating(to.dtype);
  if (halves && floats && how != TorchWalk::strided && how != TorchWalk::vectorized) {
    Copy shape;
    shape.elements = elements;
    list.add("conversion", shape, priced_as(read < written ? from.dtype : to.dtype).format, how);
    return;
  }
  list.add_pass("conversion", bytes_of(from), bytes_of(to), std::max(read, written), walk.walk, PointwiseOp::copy);
}

ProgramKernel& KernelList::add(std::string_view name, Shape shape, std::string_view format, TorchWalk walk) {
  ProgramKernel kernel;
  kernel.name = name;
  kernel.kernel.shape = std::move(shape);
  auto found = format_from(format);
  kernel.kernel.format = found ? *std::move(found) : formats().front();
  kernel.walk = walk;
  kernels_.push_back(std::move(kernel));
  return kernels_.back();
}

ProgramKernel& KernelList::add_grid(std::string_view name, double ctas, Count threads, double read, double written,
                                    double loads_in_a_row) {
  Custom shape;
  constexpr double kMostCtas = 1e12;  // more than any memory has rows
  shape.ctas = ctas >= 1 ? static_cast<Count>(std::min(ctas, kMostCtas)) : 1;
  shape.threads = threads;
  shape.load_bytes = std::max(1.0, read), shape.store_bytes = written;
  // A load whose place has to be computed first takes longer than a step of a kernel's main loop.
  constexpr double kStepsPerLoad = 1.5;
  shape.steps = std::max(1.0, kStepsPerLoad * loads_in_a_row);
  return add(name, shape, "fp32");
}

void KernelList::add_pass(std::string_view name, double read, double written, double element, TorchWalk walk,
                          PointwiseOp op, Manner manner) {
  const double unit = element >= 4 ? 4 : 2;
  const double all = read + written;
  if (!(all > 0)) return;
  // As many inputs as come nearest; elements make up for the rest.
  constexpr double kMostInputs = 6;
  const double inputs = std::clamp(std::round(read / std::max(written, 1.0)), 1.0, kMostInputs);
  constexpr double kMostElements = 1e17;
  const double elements = std::clamp(std::ceil(all / (unit * (inputs + 1))), 1.0, kMostElements);
  add(name, pointwise_shape(op, static_cast<Count>(elements), static_cast<Count>(inputs)),
      unit >= 4 ? "fp32" : "bf16", walk)
      .manner = manner;
}

}  // namespace tilecast
