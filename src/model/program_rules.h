// What is known about PyTorch's operators: for each, the kernels that PyTorch 2.11 launches on a CUDA card.
//
// The rules of each kind have their own file (program_pointwise.cpp, program_products.cpp ...); program_lower.cpp
// collects them. An operator without a rule is priced by the bytes of its tensors.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/elementwise.h"
#include "kernel/kernel.h"
#include "kernel/torch_walk.h"
#include "model/program_file.h"

namespace tilecast {

// What makes a kernel slower than the one its shape is priced by; engine/program_manners.h has the factors.
enum class Manner : std::uint8_t {
  plain,
  strided,            // offsets by division over more axes than two
  mixed,              // operands of different types, converted one by one as they are loaded
  mixed_strided,      // both
  write_only,         // nothing is read
  turned,             // an image changes between channels first and last through shared memory
  few_channels,       // a convolution whose channels are padded: cuDNN takes kernels of an older kind
  shared_tile,        // a convolution whose groups share tiles
  recurrent_product,  // of one time of a recurrent layer
  recurrent_cell,
  atomics,            // sums in L2, number by number
  compiled_atomics,   // ... in a compiled kernel
  sums_of_squares,    // mean and variance in one pass, by divisions
  by_channel,         // parameters of a channel beside every element
  by_plane,           // ... channels first, a CTA for a channel of an image: cuDNN's
  by_plane_native,    // ... and PyTorch's
  channel_sums,       // two sums a channel
  attention_dropout,  // random numbers for every score
  attention_dropout_backward,
  attention_bias,        // a number is read and added for every score
  random,                // random numbers for every element
  many_states,           // an optimizer's tensors side by side, in fp32 ...
  many_narrow_states,    // ... and in 16 bits, converted one by one
  divided_places,        // every element's place by several divisions
  tf32_filter_gradient,  // of a convolution in fp32
  tf32_data_gradient,    // likewise; a transposed convolution is one
};

// What lowering needs to know about a card; grids depend on it.
struct ProgramCard {
  Count sms = 132;
  Count threads_per_sm = 2048;
  bool compiled = false;     // Inductor: biases of convolutions are added by what comes after
  bool images_last = false;  // and this graph's images are kept channels last
  bool bias_first =
      false;  // ... unless what comes after reads no single numbers: a product, or what is beyond the graph
};

// One kernel of an operator.
struct ProgramKernel {
  std::string name;  // "product", "row sums"; for people
  Kernel kernel;
  TorchWalk walk = TorchWalk::vectorized;
  KernelSource source = {};  // whose attention, where the record says it; empty: the card's default
  Count times = 1;
  Manner manner = Manner::plain;
  int axes = 1;          // that offsets are computed over
  double workspace = 0;  // bytes that the library takes for it meanwhile
  double beside =
      0;  // share of its time that runs beside others of its operator, so that the step does not wait for it
};

// One distinct call of a program with its arguments by name.
class OperatorView {
 public:
  OperatorView(const ProgramFile& program, const ProgramOperator& op, const ProgramCard& card = {})
      : program_(program), op_(op), card_(card) {}
  const ProgramCard& card() const { return card_; }
  const ProgramOperator& op() const { return op_; }
  std::string_view name() const { return op_.name; }

  // Null if it was not given, or is not a tensor.
  const ProgramLayout* tensor(std::string_view argument) const;
  // The members of a list; absent ones are left out.
  std::vector<const ProgramLayout*> tensors(std::string_view argument) const;
  // All tensor arguments in order, those of lists included.
  std::vector<const ProgramLayout*> inputs() const;
  std::vector<const ProgramLayout*> results() const;
  const ProgramLayout* result(std::size_t i = 0) const;
  std::vector<Count> wholes(std::string_view argument) const;
  Count whole(std::string_view argument, Count otherwise) const;
  double number(std::string_view argument, double otherwise) const;
  bool truth(std::string_view argument, bool otherwise = false) const;

 private:
  const ProgramFile& program_;
  const ProgramOperator& op_;
  ProgramCard card_;
};

// Collects the kernels of an operator.
class KernelList {
 public:
  ProgramKernel& add(std::string_view name, Shape shape, std::string_view format,
                     TorchWalk walk = TorchWalk::vectorized);
  // A pointwise pass that reads and writes this many bytes over elements of this size.
  void add_pass(std::string_view name, double read, double written, double element,
                TorchWalk walk = TorchWalk::vectorized, PointwiseOp op = PointwiseOp::add,
                Manner manner = Manner::plain);
  // A custom grid: this many CTAs, each of which waits for this many dependent loads.
  ProgramKernel& add_grid(std::string_view name, double ctas, Count threads, double read, double written,
                          double loads_in_a_row);
  std::vector<ProgramKernel> take() && { return std::move(kernels_); }
  bool empty() const { return kernels_.empty(); }
  ProgramKernel& last() { return kernels_.back(); }

 private:
  std::vector<ProgramKernel> kernels_;
};

// Whose workspace an operator takes: cuBLAS keeps one for each thread that calls it, cuDNN's stand with the kernels
// (ProgramKernel::workspace).
enum class ProgramLibrary : std::uint8_t { none, cublas };

struct ProgramRule {
  std::string_view op;  // without its overload, and without the underscore of what writes in place
  void (*lower)(const OperatorView&, KernelList&) = nullptr;  // null: launches nothing
  ProgramLibrary library = ProgramLibrary::none;
};
std::span<const ProgramRule> program_pointwise_rules();
std::span<const ProgramRule> program_product_rules();
std::span<const ProgramRule> program_attention_rules();
std::span<const ProgramRule> program_convolution_rules();
std::span<const ProgramRule> program_norm_rules();
std::span<const ProgramRule> program_reduction_rules();
std::span<const ProgramRule> program_movement_rules();
std::span<const ProgramRule> program_optimizer_rules();
std::span<const ProgramRule> program_recurrent_rules();
std::span<const ProgramRule> program_quiet_rules();  // no kernels

const ProgramRule* find_program_rule(std::string_view name);
// "aten.add_.Tensor" -> "add"; operators of other libraries keep their namespace.
std::string_view operator_base(std::string_view name);

// Sizes of tensors.
Count elements_of(const ProgramLayout& layout);
// Elements that are distinct in memory: an expanded axis has one.
Count distinct_elements(const ProgramLayout& layout);
double element_bytes(std::string_view dtype);
double bytes_of(const ProgramLayout& layout);
bool is_floating(std::string_view dtype);
// The format that pointwise kernels of this type are priced in, and how many of its elements one of ours is: whole
// numbers and booleans move like floats of as many bytes.
struct PricedAs {
  std::string_view format;
  double elements = 1;
};
PricedAs priced_as(std::string_view dtype);

// How TensorIterator walks operands: the result first. Axes are put in order of the result's strides and joined where
// all operands allow (TensorIterator.cpp, reorder_dimensions and coalesce_dimensions).
struct IteratorWalk {
  TorchWalk walk = TorchWalk::vectorized;
  bool contiguous = true;   // one axis, all strides one
  bool transposed = false;  // an operand as large as the result is read across its rows
  Count inner = 0;          // elements of the fastest axis after joining
  int axes = 1;             // after joining
};
IteratorWalk iterator_walk(std::span<const ProgramLayout* const> operands);

void lower_pointwise(const OperatorView& view, KernelList& list);
// What cuDNN keeps of a recurrent layer for its gradients: the record does not know its size.
double recurrent_reserve(const OperatorView& view);
// A copy between layouts of one shape: contiguous, strided, transposed, with a change of type or without.
void add_copy(KernelList& list, const ProgramLayout& to, const ProgramLayout& from);
// Sums (or other reductions) of `from` to `results` elements; `inner`: the reduced axes are the fastest in memory.
void add_reduction(KernelList& list, const ProgramLayout& from, double results, bool inner, const ProgramCard& card);
// Keys of 64 bits sorted with what belongs to them.
void add_sort(KernelList& list, double keys);
// One row of results for each of `rows` CTAs, which first waits for its index.
void add_row_gather(KernelList& list, std::string_view name, double rows, double read, double written);

}  // namespace tilecast
