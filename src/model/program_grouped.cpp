// Convolutions in groups. cuDNN has two ways, and its heuristics choose:
//
// - together: one kernel over all groups. Channels of a group are padded to a power of two, and groups of fewer than a
//   tile's channels share a tile, in which only the blocks on the diagonal are wanted. Where padding is needed, the
//   images and the filter are copied into padded ones before and after.
// - one by one: each group is cut out, convolved by a kernel of its own, small and mostly waiting, and put back.
#include <algorithm>
#include <bit>
#include <cmath>

#include "constants/convolution.h"
#include "kernel/conv2d.h"
#include "kernel/custom.h"
#include "kernel/elementwise.h"
#include "model/program_convolutions.h"

namespace tilecast {
namespace {

using namespace constants;

// What the choice and the kernels go by.
struct Groups {
  Count count = 1;
  Count in = 1, out = 1;  // channels of one
  Count padded = 1;       // ... in the kernel for all
  Count rows = 1;         // results of all images
  Count taps = 1;
  bool wide = false;  // fp32

  Groups(const Window& window, std::string_view dtype)
      : count(window.shape.groups),
        in(window.shape.in_channels / count),
        out(window.shape.out_channels / count),
        rows(window.shape.batch * window.shape.vertical().results() * window.shape.horizontal().results()),
        taps(taps_of(window.shape)),
        wide(element_bytes(dtype) > 2) {
    constexpr Count kLeast = 4;
    padded = static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(std::max({kLeast, in, out}))));
  }
  bool is_padded() const { return in != padded || out != padded; }
  bool is_few() const { return static_cast<double>(count) <= kFewGroups; }
  bool is_wide() const { return static_cast<double>(in) > kWideGroup; }
  bool is_masked() const { return static_cast<double>(taps) <= kMostMaskedTaps; }
  double work() const {  // products of one group
    return static_cast<double>(rows) * static_cast<double>(in * out * taps);
  }
};

// Seven or nine times eight channels: the kernels for all groups are passed over though they could be padded.
bool is_passed_over(Count channels) { return channels == 56 || channels == 72; }

// Of 16 bits: few small groups, or wide ones.
bool narrow_one_by_one(const Groups& g, const Conv2d& s, ConvBackward direction) {
  if (!g.is_masked() && g.is_wide() && direction != ConvBackward::weight) return true;
  switch (direction) {
    case ConvBackward::none:
      if (g.is_few()) return g.work() < kSmallGroup;
      return is_passed_over(g.in) || g.in == 64;
    case ConvBackward::data:
      if (!g.is_wide()) return g.count == 2;
      return s.stride > 1 || s.batch <= 2 || g.work() > kLargeGroup;
    case ConvBackward::weight:
      if (g.count == 2) return true;
      return g.in > 64 && g.work() <= kLargeGroup;
  }
  return false;
}

bool runs_one_by_one(const Groups& g, const Conv2d& s, bool last, ConvBackward direction) {
  if (!g.wide) return narrow_one_by_one(g, s, direction);
  if (!g.is_masked() || (direction != ConvBackward::weight && g.taps > 20)) return true;
  if (direction == ConvBackward::none) return is_passed_over(g.in) && !last;
  if (direction == ConvBackward::data) return !last && g.work() > kLargeGroup;
  return g.count <= 7 ? !last : g.work() > kLargeGroup / 2;
}

double bytes_of_channels(const ProgramLayout& image, Count channels) {
  return bytes_of(image) / static_cast<double>(std::max<Count>(1, image.shape[1])) * static_cast<double>(channels);
}

// Every element's place is computed by divisions; the grid is the same for any size.
void add_transform(KernelList& list, const ProgramLayout& tensor, double elements) {
  constexpr Count kThreads = 1024;
  ProgramKernel& kernel = list.add_grid("padded copy", 264, kThreads, bytes_of(tensor),
                                        elements * element_bytes(tensor.dtype), kTransformLoads);
  kernel.kernel.shape.as<Custom>().vector_ops = 2 * kTransformSlots * elements;
}

void add_clear(KernelList& list, double size, double element) {
  list.add_pass("cleared", 0, size, element, TorchWalk::vectorized, PointwiseOp::copy, Manner::write_only);
}

// Images whose groups are padded, channels first: turned and padded at once, by a tile of 32 channels.
void add_padding(KernelList& list, const Groups& g, const ProgramLayout& image, bool last) {
  const Count channels = g.count * g.padded;
  const double padded = bytes_of_channels(image, channels);
  if (last) return add_transform(list, image, padded / element_bytes(image.dtype));
  ProgramLayout wider = image;
  wider.shape[1] = channels;
  add_turn(list, wider);
}

// The product: groups of fewer channels than a tile has share it.
void add_together(KernelList& list, const Window& window, const Groups& g, const ConvolutionTensors& tensors,
                  ConvBackward direction) {
  constexpr Count kTileWide = 32, kTileNarrow = 64;
  const Count tile = std::max(g.padded, g.wide ? kTileWide : kTileNarrow);
  Conv2d shape = window.shape;
  shape.groups = ceil_div(g.count * g.padded, tile);
  shape.in_channels = shape.out_channels = shape.groups * tile;
  shape.backward = direction;
  const std::string_view dtype = tensors.image->dtype;
  const bool filter = direction == ConvBackward::weight;
  const char* name = filter ? "filter gradient" : direction == ConvBackward::data ? "data gradient" : "convolution";
  if (g.wide && filter)  // rounded to tf32 by passes of their own
    for (const ProgramLayout* image : {tensors.image, tensors.results})
      list.add_pass("conversion", bytes_of(*image), bytes_of(*image), 4);
  ProgramKernel& kernel = list.add(name, shape, multiplied_as(dtype));
  kernel.manner = g.wide && filter ? Manner::tf32_filter_gradient : Manner::shared_tile;
}

void add_all_together(KernelList& list, const Window& window, const Groups& g, const ConvolutionTensors& tensors,
                      ConvBackward direction) {
  const bool filter = direction == ConvBackward::weight, data = direction == ConvBackward::data;
  const ProgramLayout &first = data ? *tensors.results : *tensors.image,
                      &second = data ? *tensors.image : *tensors.results;
  const bool copies = g.is_padded() || !tensors.last;
  const auto add_copy_of = [&](const ProgramLayout& image) {
    if (g.is_padded()) add_padding(list, g, image, tensors.last);
    else add_turn(list, image);
  };
  const auto add_filter_copy = [&] {
    const auto elements = static_cast<double>(g.count * g.padded * g.padded * g.taps);
    if (g.is_padded()) add_transform(list, *tensors.filter, elements);
    else add_turn(list, *tensors.filter);
  };
  if (g.is_padded()) add_clear(list, bytes_of_channels(first, g.count * g.padded), element_bytes(first.dtype));
  if (copies) add_copy_of(first);
  if (copies && filter) add_copy_of(second);
  if (copies && !filter) add_filter_copy();
  add_together(list, window, g, tensors, direction);
  if (copies && !filter) add_copy_of(second);
  if (copies && filter) add_filter_copy();
}

// A group's channels out of an image, or back.
void add_slice(KernelList& list, const Groups& g, const ProgramLayout& image, bool last, Count channels) {
  ProgramLayout part = image;
  part.shape[1] = channels;
  if (last) {
    constexpr Count kThreads = 512;
    const auto elements = static_cast<double>(elements_of(part));
    ProgramKernel& kernel = list.add_grid("a group's channels", std::ceil(elements / kThreads), kThreads,
                                          bytes_of(part), bytes_of(part), 1);
    kernel.kernel.shape.as<Custom>().vector_ops = 2 * kSliceSlots * elements;
  } else {
    add_turn(list, part);
    list.last().workspace = 0;
  }
  list.last().times = g.count;
}

// Groups are given to streams side by side: as many as find SMs run together.
double beside_others(const Groups& g, Count ctas) {
  constexpr double kSms = 132;
  return 1 - 1 / std::clamp(kSms / static_cast<double>(ctas), 1.0, static_cast<double>(g.count));
}

// Kernels of one group: steps of a main loop that wait for their loads. Filters of more taps than a mask has bits
// compute every place anew.
void add_group_kernel(KernelList& list, const Groups& g, ConvBackward direction, std::string_view dtype) {
  constexpr Count kRows = 64, kLongRows = 128, kColumns = 64, kNarrowStep = 32, kWideStep = 16;
  constexpr Count kThreads = 128;
  const bool filter = direction == ConvBackward::weight, masked = g.is_masked();
  const Count step = g.wide ? kWideStep : kNarrowStep;
  const Count tile = masked && !g.wide ? kRows : kLongRows;
  Count tiles = ceil_div(g.rows, tile) * ceil_div(g.out, kColumns);
  auto steps = static_cast<double>(g.taps * ceil_div(g.in, step));
  if (filter) {
    const auto split = static_cast<Count>(g.is_few() ? kFewGroupsSplit : kGroupSplit);
    tiles = ceil_div(g.in * g.taps, kColumns) * ceil_div(g.out, kColumns) * split;
    steps = static_cast<double>(ceil_div(g.rows, step * split));
  }
  Custom shape;
  shape.ctas = std::max<Count>(1, tiles), shape.threads = kThreads;
  shape.shared_kib = 120;  // one of them on an SM
  const double each = filter || (masked && !g.wide) ? kGroupStep : kGroupLongStep;
  shape.steps =
      std::max(1.0, kGroupSetUp + each * steps * (direction == ConvBackward::data ? kGroupDataStep.value : 1));
  shape.load_bytes = static_cast<double>(g.rows * g.in) * element_bytes(dtype);
  shape.store_bytes = static_cast<double>(g.rows * g.out) * element_bytes(dtype);
  ProgramKernel& kernel = list.add("one group", shape, priced_as(dtype).format);
  kernel.times = g.count;
  kernel.beside = beside_others(g, shape.ctas);
}

// Filters too long for the tensor cores' kernels, over channels that are no power of two: products on the vector pipe,
// and one CTA an image for each of the two edges.
bool is_long(const Groups& g, ConvBackward direction) {
  constexpr Count kLong = 128;
  return !g.wide && g.taps >= kLong && g.in != g.padded && direction == ConvBackward::none;
}
void add_long_filter(KernelList& list, const Groups& g, Count images, std::string_view dtype) {
  constexpr Count kThreads = 128, kTile = 128;
  Custom middle;
  middle.ctas = std::max<Count>(1, ceil_div(g.rows, kTile)), middle.threads = kThreads;
  middle.vector_ops = 2 * kLongFilterSlots * g.work();
  middle.load_bytes = static_cast<double>(g.rows * g.in) * element_bytes(dtype);
  middle.store_bytes = static_cast<double>(g.rows * g.out) * element_bytes(dtype);
  ProgramKernel& kernel = list.add("one group", middle, "fp32");
  kernel.times = g.count;
  ProgramKernel& edges = list.add_grid("edges of one group", static_cast<double>(images), kThreads, 1, 1, 1);
  auto& shape = edges.kernel.shape.as<Custom>();
  shape.steps = std::max(1.0, kLongFilterStep * static_cast<double>(g.in * g.taps));
  edges.times = 2 * g.count, edges.beside = beside_others(g, images);
}

void add_one_by_one(KernelList& list, const Groups& g, const ConvolutionTensors& tensors, ConvBackward direction) {
  if (is_long(g, direction)) return add_long_filter(list, g, tensors.image->shape[0], tensors.image->dtype);
  const bool filter = direction == ConvBackward::weight, data = direction == ConvBackward::data;
  if (!data) add_slice(list, g, *tensors.image, tensors.last, g.in);
  if (data || filter) add_slice(list, g, *tensors.results, tensors.last, g.out);
  const auto add_filter = [&] {
    ProgramLayout part = *tensors.filter;
    part.shape[0] = std::max<Count>(1, part.shape[0] / g.count);
    add_turn(list, part);
    list.last().times = g.count, list.last().workspace = 0;
  };
  if (!tensors.last && !filter) add_filter();
  add_group_kernel(list, g, direction, tensors.image->dtype);
  if (filter && !tensors.last) add_filter();
  if (filter) list.add_grid("sums of parts", 1, 128, 1, 1, 1).times = g.count;
  if (data) add_slice(list, g, *tensors.image, tensors.last, g.in);
  if (!data && !filter) add_slice(list, g, *tensors.results, tensors.last, g.out);
}

}  // namespace

void add_grouped(KernelList& list, const Window& window, const ConvolutionTensors& tensors, ConvBackward direction) {
  const Groups groups(window, tensors.image->dtype);
  if (runs_one_by_one(groups, window.shape, tensors.last, direction)) add_one_by_one(list, groups, tensors, direction);
  else add_all_together(list, window, groups, tensors, direction);
}

}  // namespace tilecast
