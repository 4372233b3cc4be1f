// Copies, conversions, concatenations, look-ups and what writes to places that a tensor names.
#include <algorithm>
#include <cmath>

#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "kernel/embedding.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

// Other devices' tensors come over the bus; a recorded program does that at its edges only.
bool stays(const ProgramLayout& a, const ProgramLayout& b) { return a.on_card && b.on_card; }

void lower_copy(const OperatorView& view, KernelList& list) {
  const ProgramLayout *from = view.tensor("self"), *to = view.result();
  if (from && to && stays(*from, *to)) add_copy(list, *to, *from);
}

void lower_copy_into(const OperatorView& view, KernelList& list) {
  const ProgramLayout *to = view.tensor("self"), *from = view.tensor("src");
  if (from && to && stays(*from, *to)) add_copy(list, *to, *from);
}

bool is_dense(const ProgramLayout& tensor) {
  const ProgramLayout* operands[] = {&tensor};
  const IteratorWalk walk = iterator_walk(operands);
  return walk.contiguous && distinct_elements(tensor) == elements_of(tensor);
}

// Shape.cu: every input has as many CTAs as the largest, so small ones beside it cost the same. Dense inputs move in
// vectors of 16 bytes.
void lower_cat(const OperatorView& view, KernelList& list) {
  const ProgramLayout* out = view.result();
  if (!out || elements_of(*out) == 0 || !out->on_card) return;
  const std::vector<const ProgramLayout*> inputs = view.tensors("tensors");
  Count largest = 0;
  bool dense = true;
  for (const ProgramLayout* input : inputs) {
    largest = std::max(largest, elements_of(*input));
    dense = dense && is_dense(*input) && input->dtype == out->dtype;
  }
  const PricedAs priced = priced_as(out->dtype);
  const double all = dense ? static_cast<double>(elements_of(*out))
                           : static_cast<double>(largest) * static_cast<double>(inputs.size());
  Copy shape;
  shape.elements = std::max<Count>(1, static_cast<Count>(all * priced.elements));
  ProgramKernel& kernel =
      list.add("concatenation", shape, priced.format, dense ? TorchWalk::vectorized : TorchWalk::cat);
  if (!dense) kernel.manner = Manner::strided, kernel.axes = static_cast<int>(out->shape.size()) - 1;
}

// FSDP2's copies between parameters and the buffers of its collectives: one kernel over a list, as long as its larger
// side (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py).
void lower_list_copy(const OperatorView& view, KernelList& list) {
  const auto sum = [&](std::string_view argument) {
    double bytes = 0;
    for (const ProgramLayout* tensor : view.tensors(argument)) bytes += bytes_of(*tensor);
    return bytes;
  };
  const double inputs = sum("all_gather_inputs"), parts = sum("tensors"), whole = sum("all_gather_output"),
               out = sum("out");
  const double read = inputs > 0 ? inputs : parts > 0 ? parts : whole, written = inputs > 0 ? inputs : out;
  if (read + written > 0) list.add_pass("copies of a list", read, written, sizeof(float));
}

// Rows named by an index, written one after another: one CTA per row (vectorized_gather_kernel) if rows are whole
// vectors of 16 bytes, otherwise element by element.
void lower_gather(const OperatorView& view, KernelList& list) {
  const ProgramLayout *out = view.result(), *self = view.tensor("self");
  if (!out || !self || elements_of(*out) == 0 || !out->on_card) return;
  Count indices = 0;
  std::size_t lists = 0;
  for (const std::string_view name : {"index", "indices"})
    for (const ProgramLayout* index : view.tensors(name)) indices = std::max(indices, elements_of(*index)), ++lists;
  const double size = static_cast<double>(elements_of(*out)) * element_bytes(out->dtype);
  constexpr double kVector = 16;
  const double row = indices > 0 ? size / static_cast<double>(indices) : 0;
  const bool rows = lists == 1 && operator_base(view.name()) != "gather" && row >= kVector;
  if (rows) return add_row_gather(list, "gather", static_cast<double>(indices), std::min(size, bytes_of(*self)), size);
  const PricedAs priced = priced_as(out->dtype);
  Copy shape;
  shape.elements = std::max<Count>(1, static_cast<Count>(static_cast<double>(elements_of(*out)) * priced.elements));
  list.add("gather", shape, priced.format, TorchWalk::index);
}

const ProgramLayout* source_of_scatter(const OperatorView& view) {
  for (const std::string_view name : {"source", "src", "values", "value"})
    if (const ProgramLayout* found = view.tensor(name)) return found;
  return nullptr;
}

// Rows of the axes before the first that an index names: a layer of the grid each.
double rows_before_index(const OperatorView& view, const ProgramLayout& self) {
  const ProgramArgument* indices = view.op().find("indices");
  double rows = 1;
  for (std::size_t i = 0; indices && i < indices->counts.size() && i < self.shape.size(); ++i) {
    if (indices->counts[i] >= 0) break;
    rows *= static_cast<double>(self.shape[i]);
  }
  return rows;
}

// index_put that adds sorts its indices, so that sums come in order, and gives every index a warp (Indexing.cu).
void add_sorted_sums(KernelList& list, const OperatorView& view, const ProgramLayout& self,
                     const ProgramLayout& source) {
  Count indices = 1;
  for (const ProgramLayout* index : view.tensors("indices")) indices = std::max(indices, elements_of(*index));
  add_sort(list, static_cast<double>(indices));
  const double size = bytes_of(source), before = rows_before_index(view, self);
  constexpr double kWarps = 4, kColumns = 128;
  const double after = static_cast<double>(elements_of(source)) / (static_cast<double>(indices) * before);
  const double ctas =
      std::ceil(static_cast<double>(indices) / kWarps) * before * std::max(1.0, std::ceil(after / kColumns));
  list.add_grid("sums by index", ctas, 128, 2 * size, size, 2);
}

// The destination is copied first unless it is written in place; then every row of the source is read and added or
// written where its index says.
void lower_scatter(const OperatorView& view, KernelList& list) {
  const ProgramLayout *self = view.tensor("self"), *out = view.result(), *source = source_of_scatter(view);
  if (!self || !out || elements_of(*out) == 0) return;
  const std::string_view name = view.name(), base = operator_base(name);
  const bool in_place = name.substr(0, name.find('.', name.find('.') + 1)).ends_with('_');
  if (!in_place) add_copy(list, *out, *self);
  if (!source || elements_of(*source) == 0) return;
  if (base == "index_put" && view.truth("accumulate")) return add_sorted_sums(list, view, *self, *source);
  const double size = bytes_of(*source);
  const bool sums = base == "index_add" || base == "scatter_add" || base == "scatter_reduce";
  list.add_pass("scatter", 2 * size, size, element_bytes(out->dtype), TorchWalk::index, PointwiseOp::copy,
                sums ? Manner::atomics : Manner::plain);
}

void lower_embedding(const OperatorView& view, KernelList& list) {
  const ProgramLayout *table = view.tensor("weight"), *indices = view.tensor("indices");
  if (!table || !indices || table->shape.size() != 2 || elements_of(*indices) == 0) return;
  Embedding shape;
  shape.tokens = elements_of(*indices), shape.vocab = table->shape[0], shape.cols = table->shape[1];
  list.add("embedding", shape, priced_as(table->dtype).format);
}

// Up to 3072 indices are compared with each other by one CTA for 32 columns; more are sorted (Embedding.cu).
constexpr Count kSortedFrom = 3072;

void lower_embedding_backward(const OperatorView& view, KernelList& list) {
  const ProgramLayout *gradient = view.tensor("grad_output"), *indices = view.tensor("indices"), *out = view.result();
  if (!gradient || !indices || !out || out->shape.size() != 2 || elements_of(*indices) == 0) return;
  Embedding shape;
  shape.tokens = elements_of(*indices), shape.vocab = out->shape[0], shape.cols = out->shape[1], shape.backward = true;
  if (shape.tokens > kSortedFrom) add_sort(list, static_cast<double>(shape.tokens));
  list.add("embedding gradient", shape, priced_as(out->dtype).format);
}

// Rows of a bag are added up as they are read: one thread per column, 1024 CTAs for all bags, each row's index first.
void lower_bag(const OperatorView& view, KernelList& list) {
  const ProgramLayout *table = view.tensor("weight"), *indices = view.tensor("indices"), *out = view.result();
  if (!table || !indices || !out || table->shape.size() != 2) return;
  constexpr double kCtas = 1024;
  constexpr Count kThreads = 256;
  const double rows = static_cast<double>(elements_of(*indices)), cols = static_cast<double>(table->shape[1]);
  list.add_grid("bags", kCtas, kThreads, rows * cols * element_bytes(table->dtype), bytes_of(*out),
                2 * rows * cols / (kCtas * static_cast<double>(kThreads)));
}

// The table's gradient: zeros, the indices sorted, the rows of equal ones added up in two kernels, a CTA for each
// index.
void lower_bag_backward(const OperatorView& view, KernelList& list) {
  const ProgramLayout *indices = view.tensor("indices"), *out = view.result();
  if (!indices || !out || out->shape.size() != 2 || elements_of(*indices) == 0) return;
  const auto rows = static_cast<double>(elements_of(*indices));
  const double size = rows * static_cast<double>(out->shape[1]) * element_bytes(out->dtype);
  add_sort(list, rows);
  list.add_pass("fill", 0, bytes_of(*out), element_bytes(out->dtype), TorchWalk::vectorized, PointwiseOp::copy,
                Manner::write_only);
  constexpr Count kThreads = 64;
  constexpr double kLoads = 5;  // where its part begins and ends, the index, its bag, the row
  list.add_grid("sums of parts", rows, kThreads, size, size, kLoads);
  list.add_grid("sums of parts joined", rows, kThreads, size, size, kLoads);
}

// Every element read and written once, at another place.
void lower_shuffle(const OperatorView& view, KernelList& list) {
  const ProgramLayout *in = view.tensor("self"), *out = view.result();
  if (!in) in = view.tensor("grad_output");
  if (!in || !out || elements_of(*out) == 0) return;
  list.add_pass("copy", bytes_of(*in), bytes_of(*out), element_bytes(out->dtype), TorchWalk::strided, PointwiseOp::copy,
                Manner::divided_places);
}

// Axis after axis (TensorTransformations.cu).
void lower_roll(const OperatorView& view, KernelList& list) {
  lower_shuffle(view, list);
  if (!list.empty()) list.last().times = std::max<Count>(1, static_cast<Count>(view.wholes("shifts").size()));
}

// Each result is made of four neighbours, whose places are computed.
void lower_bilinear(const OperatorView& view, KernelList& list) {
  const ProgramLayout *in = view.tensor("self"), *out = view.result();
  if (!in || !out || elements_of(*out) == 0) return;
  constexpr double kNeighbours = 4;
  const double size = bytes_of(*out);
  list.add_pass("interpolation", kNeighbours * size, size, element_bytes(out->dtype), TorchWalk::strided,
                PointwiseOp::mul, Manner::divided_places);
}

// Zeros everywhere, and the gradient in its part of them.
void lower_part_backward(const OperatorView& view, KernelList& list) {
  const ProgramLayout *gradient = view.tensor("grad_output"), *out = view.result();
  if (!gradient || !out || elements_of(*out) == 0) return;
  const double element = element_bytes(out->dtype), part = bytes_of(*gradient);
  list.add_pass("fill", 0, bytes_of(*out), element, TorchWalk::vectorized, PointwiseOp::copy, Manner::write_only);
  list.add_pass("copy", part, part, element, TorchWalk::strided, PointwiseOp::copy);
}

// Each result reads the inputs of its window; neighbours share them in the caches.
void lower_pool(const OperatorView& view, KernelList& list) {
  double read = 0, written = 0;
  for (const ProgramLayout* input : view.inputs()) read += bytes_of(*input);
  for (const ProgramLayout* out : view.results()) written += bytes_of(*out);
  if (const ProgramLayout* out = view.result(); out && elements_of(*out) > 0)
    list.add_pass("pooling", read, written, element_bytes(out->dtype), TorchWalk::strided, PointwiseOp::div);
}

void lower_pool_backward(const OperatorView& view, KernelList& list) {
  const ProgramLayout* out = view.result();
  if (!out || elements_of(*out) == 0) return;
  double read = 0;
  if (const ProgramLayout* gradient = view.tensor("grad_output")) read += bytes_of(*gradient);
  if (const ProgramLayout* indices = view.tensor("indices")) read += bytes_of(*indices);
  list.add_pass("pooling gradient", read, bytes_of(*out), element_bytes(out->dtype), TorchWalk::strided,
                PointwiseOp::div, Manner::atomics);
}

}  // namespace

void add_row_gather(KernelList& list, std::string_view name, double rows, double read, double written) {
  constexpr Count kThreads = 64;
  constexpr double kSector = 32;  // of an index, which no other CTA of the SM finds again
  list.add_grid(name, rows, kThreads, read + rows * kSector, written, 3);  // the index, its row, the result
}

std::span<const ProgramRule> program_movement_rules() {
  static const std::vector<ProgramRule> rules = [] {
    std::vector<ProgramRule> made = {{"_to_copy", lower_copy},
                                     {"clone", lower_copy},
                                     {"contiguous", lower_copy},
                                     {"copy", lower_copy_into},
                                     {"cat", lower_cat},
                                     {"fsdp.all_gather_copy_in", lower_list_copy},
                                     {"fsdp.split_with_sizes_copy", lower_list_copy},
                                     {"fsdp.chunk_cat", lower_list_copy},
                                     {"stack", lower_cat},
                                     {"embedding", lower_embedding},
                                     {"embedding_dense_backward", lower_embedding_backward},
                                     {"_embedding_bag", lower_bag},
                                     {"_embedding_bag_forward_only", lower_bag},
                                     {"_embedding_bag_backward", lower_bag_backward},
                                     {"_embedding_bag_dense_backward", lower_bag_backward},
                                     {"slice_backward", lower_part_backward},
                                     {"select_backward", lower_part_backward},
                                     {"max_pool2d_with_indices_backward", lower_pool_backward},
                                     {"roll", lower_roll},
                                     {"upsample_bilinear2d", lower_bilinear},
                                     {"upsample_bicubic2d", lower_bilinear},
                                     {"upsample_nearest2d_backward", lower_shuffle},
                                     {"upsample_bilinear2d_backward", lower_shuffle}};
    for (const std::string_view op : {"index", "index_select", "gather", "take", "masked_select"})
      made.push_back({op, lower_gather});
    for (const std::string_view op :
         {"index_add", "index_put", "scatter", "scatter_add", "scatter_reduce", "index_copy", "_index_put_impl",
          "masked_scatter", "slice_scatter", "select_scatter"})
      made.push_back({op, lower_scatter});
    for (const std::string_view op :
         {"constant_pad_nd", "flip", "pixel_shuffle", "pixel_unshuffle", "repeat", "_unsafe_index", "reflection_pad1d",
          "reflection_pad2d", "replication_pad2d", "im2col", "col2im", "repeat_interleave"})
      made.push_back({op, lower_shuffle});
    for (const std::string_view op :
         {"max_pool2d_with_indices", "avg_pool2d", "_adaptive_avg_pool2d", "upsample_nearest2d", "avg_pool2d_backward",
          "_adaptive_avg_pool2d_backward", "upsample_nearest1d", "max_pool3d_with_indices", "_adaptive_avg_pool3d"})
      made.push_back({op, lower_pool});
    return made;
  }();
  return rules;
}

}  // namespace tilecast
