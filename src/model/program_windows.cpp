// What the tensors of a convolution say, and their changes of layout.
#include <algorithm>
#include <cmath>

#include "kernel/conv2d.h"
#include "kernel/elementwise.h"
#include "model/program_convolutions.h"

namespace tilecast {
namespace {

// An axis without padding of its own that gives as many results.
Count covered(Count results, Count taps, Count stride, Count dilation) {
  return (results - 1) * stride + dilation * (taps - 1) + 1;
}

Count entry(const std::vector<Count>& list, std::size_t i, Count otherwise) {
  if (list.empty()) return otherwise;
  return i < list.size() ? list[i] : list.back();
}

// Sizes and steps that a real convolution may have: others would overflow on the way to its kernels.
bool is_sound(const OperatorView& view, const ProgramLayout& image, const ProgramLayout& filter,
              const ProgramLayout& results) {
  constexpr Count kMostStep = Count{1} << 20;
  constexpr double kMostRows = 1e15;
  for (const ProgramLayout* tensor : {&image, &filter, &results})
    if (elements_of(*tensor) == 0) return false;
  for (const std::string_view name : {"stride", "padding", "dilation", "groups"})
    for (const Count step : view.wholes(name))
      if (step < (name == "padding" ? 0 : 1) || step > kMostStep) return false;
  return static_cast<double>(image.shape[0]) * static_cast<double>(elements_of(results)) *
             static_cast<double>(filter.shape[1]) <
         kMostRows * kMostRows;
}

}  // namespace

bool holds_channels_last(const ProgramLayout& image) {
  return image.shape.size() >= 3 && image.strides[1] == 1 && image.strides.back() >= image.shape[1];
}

std::optional<Window> window_of(const OperatorView& view, const ProgramLayout& image, const ProgramLayout& filter,
                                const ProgramLayout& results) {
  const std::size_t rank = filter.shape.size();
  if (rank < 3 || rank > 5 || image.shape.size() != rank || results.shape.size() != rank) return std::nullopt;
  if (!is_sound(view, image, filter, results)) return std::nullopt;
  const std::vector<Count> stride = view.wholes("stride"), padding = view.wholes("padding"),
                           dilation = view.wholes("dilation");
  Window window;
  Conv2d& s = window.shape;
  s.groups = std::max<Count>(1, view.whole("groups", 1));
  s.batch = image.shape[0], s.in_channels = image.shape[1], s.out_channels = results.shape[1];
  if (rank == 5) {  // frames: each result sees as many as the filter is deep
    s.batch *= results.shape[2], s.in_channels *= filter.shape[2], window.depth = filter.shape[2];
    if (filter.shape[2] != 1 || entry(stride, 0, 1) != 1) window.unit = false;
  }
  const std::size_t w = rank - 1, axes = rank - 2;
  const std::size_t last = axes - 1;
  s.kernel_w = filter.shape[w], s.kernel_h = rank == 3 ? 1 : filter.shape[w - 1];
  const Count step_w = entry(stride, last, 1), step_h = rank == 3 ? step_w : entry(stride, last - 1, 1);
  const Count pad_w = entry(padding, last, 0), pad_h = rank == 3 ? 0 : entry(padding, last - 1, 0);
  const Count far_w = entry(dilation, last, 1), far_h = rank == 3 ? 1 : entry(dilation, last - 1, 1);
  s.stride = std::max(step_w, step_h), s.dilation = std::max(far_w, far_h);
  s.width = image.shape[w], s.height = rank == 3 ? 1 : image.shape[w - 1];
  s.padding = pad_w;
  if (pad_w != pad_h || step_w != step_h || far_w != far_h) {
    s.padding = 0;
    s.width = covered(results.shape[w], s.kernel_w, s.stride, s.dilation);
    s.height = rank == 3 ? 1 : covered(results.shape[w - 1], s.kernel_h, s.stride, s.dilation);
  }
  window.axes = static_cast<Count>(axes);
  window.unit = window.unit && s.kernel_w == 1 && s.kernel_h == 1 && s.stride == 1 && pad_w == 0 && pad_h == 0;
  return window;
}

// A tile of 32 channels and as many positions is turned through shared memory, full or not; a filter's positions are
// its taps.
void add_turn(KernelList& list, const ProgramLayout& image) {
  constexpr Count kTile = 32;
  const Count channels = std::max<Count>(1, image.shape[1]);
  const Count positions = std::max<Count>(1, elements_of(image) / (channels * std::max<Count>(1, image.shape[0])));
  const auto filled = [](Count count) {
    return static_cast<double>(round_up(count, kTile)) / static_cast<double>(count);
  };
  const double size = bytes_of(image) * filled(channels) * filled(positions);
  list.add_pass("layout change", size, size, element_bytes(image.dtype), TorchWalk::vectorized, PointwiseOp::copy,
                Manner::turned);
  list.last().workspace = bytes_of(image);
}

std::string_view multiplied_as(std::string_view dtype) { return dtype == "fp32" ? "tf32" : priced_as(dtype).format; }

Count taps_of(const Conv2d& s) { return (s.kernel_h ? s.kernel_h : s.kernel) * (s.kernel_w ? s.kernel_w : s.kernel); }

}  // namespace tilecast
