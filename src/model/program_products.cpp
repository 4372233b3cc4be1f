// Matrix products by the layout of their operands.
#include <algorithm>

#include "kernel/gemm.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

// Whether the last two axes are stored column by column: cuBLAS reads such a matrix as its transpose.
bool is_turned(const ProgramLayout& matrix) {
  const std::size_t rank = matrix.shape.size();
  if (rank < 2) return false;
  return matrix.strides[rank - 2] == 1 && matrix.strides[rank - 1] >= std::max<Count>(1, matrix.shape[rank - 2]) &&
         matrix.shape[rank - 1] > 1;
}

// Column-major names: the second operand comes first. A linear layer, x times the transpose of a stored weight, is tn.
Layout layout_of(const ProgramLayout& a, const ProgramLayout& b) {
  const bool first = is_turned(b), second = is_turned(a);
  if (first) return second ? Layout::tt : Layout::tn;
  return second ? Layout::nt : Layout::nn;
}

// Inductor pads products whose rows would not start at multiples of 16 bytes, where a benchmark on the card says that
// it pays (torch/_inductor/fx_passes/pad_mm.py). On an H200 it did for products of 430 operations and more an element
// moved (vocabularies of 30522 and 51865), not for those of 130, and never in fp32, whose kernels load element by
// element.
void pad(Gemm& shape, double element) {
  constexpr double kPaysFrom = 200, kNarrow = 2;
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  if (element > kNarrow || m * n * k < kPaysFrom * (m * k + n * k + m * n)) return;
  const auto each = static_cast<Count>(16 / element);
  shape.n = round_up(shape.n, each), shape.k = round_up(shape.k, each);
  if (shape.layout == Layout::nt) shape.m = round_up(shape.m, each);
}

void add_product(KernelList& list, const ProgramLayout& a, const ProgramLayout& b, const ProgramCard& card) {
  if (a.shape.size() < 2 || b.shape.size() < 2) return;
  Gemm shape;
  shape.m = a.shape[0], shape.k = a.shape[1], shape.n = b.shape[1], shape.layout = layout_of(a, b);
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return;
  if (card.compiled) pad(shape, element_bytes(a.dtype));
  list.add("product", shape, priced_as(a.dtype).format);
}

void add_batched(KernelList& list, const ProgramLayout& a, const ProgramLayout& b) {
  if (a.shape.size() < 3 || b.shape.size() < 3) return;
  Bmm shape;
  shape.batch = a.shape[0], shape.m = a.shape[1], shape.k = a.shape[2], shape.n = b.shape[2];
  shape.layout = layout_of(a, b);
  if (shape.batch == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0) return;
  list.add("batched product", shape, priced_as(a.dtype).format);
}

void lower_mm(const OperatorView& view, KernelList& list) {
  const ProgramLayout *a = view.tensor("self"), *b = view.tensor("mat2");
  if (a && b) add_product(list, *a, *b, view.card());
}

// A vector as bias is added in the product's epilogue (Blas.cpp, addmm_out_cuda_impl: cublasLt); a matrix is copied to
// the result first.
void lower_addmm(const OperatorView& view, KernelList& list) {
  const ProgramLayout *bias = view.tensor("self"), *a = view.tensor("mat1"), *b = view.tensor("mat2");
  if (!a || !b) return;
  const ProgramLayout* out = view.result();
  if (bias && out && bias->shape.size() > 1) add_copy(list, *out, *bias);
  add_product(list, *a, *b, view.card());
}

void lower_bmm(const OperatorView& view, KernelList& list) {
  const ProgramLayout *a = view.tensor("self"), *b = view.tensor("mat2");
  if (a && b) add_batched(list, *a, *b);
}

void lower_baddbmm(const OperatorView& view, KernelList& list) {
  const ProgramLayout *bias = view.tensor("self"), *a = view.tensor("batch1"), *b = view.tensor("batch2");
  if (!a || !b) return;
  if (const ProgramLayout* out = view.result(); bias && out && view.number("beta", 1) != 0) add_copy(list, *out, *bias);
  add_batched(list, *a, *b);
}

// Rows of one matrix against one of several others each: as many products side by side as there are experts.
void lower_grouped(const OperatorView& view, KernelList& list) {
  const ProgramLayout *a = view.tensor("self"), *b = view.tensor("mat2");
  if (!a || !b) return;
  if (a->shape.size() != 2 || b->shape.size() != 3) {
    if (a->shape.size() == 3 && b->shape.size() == 3) add_batched(list, *a, *b);
    return;
  }
  Bmm shape;
  shape.batch = b->shape[0], shape.m = std::max<Count>(1, a->shape[0] / std::max<Count>(1, b->shape[0]));
  shape.k = b->shape[1], shape.n = b->shape[2], shape.layout = layout_of(*a, *b);
  if (shape.batch == 0 || shape.n == 0 || shape.k == 0) return;
  list.add("grouped product", shape, priced_as(a->dtype).format);
}

void lower_vector(const OperatorView& view, KernelList& list) {
  double read = 0;
  for (const ProgramLayout* input : view.inputs()) read += bytes_of(*input);
  if (const ProgramLayout* out = view.result(); out && read > 0)
    list.add_pass("product with a vector", read, bytes_of(*out), element_bytes(out->dtype));
}

}  // namespace

std::span<const ProgramRule> program_product_rules() {
  constexpr ProgramLibrary cublas = ProgramLibrary::cublas;
  static const std::vector<ProgramRule> rules = {
      {"mm", lower_mm, cublas},
      {"addmm", lower_addmm, cublas},
      {"bmm", lower_bmm, cublas},
      {"baddbmm", lower_baddbmm, cublas},
      {"_grouped_mm", lower_grouped, cublas},
      {"mv", lower_vector, cublas},
      {"dot", lower_vector, cublas},
      {"addmv", lower_vector, cublas},
      {"_addmm_activation", lower_addmm, cublas}};  // in the epilogue as well
  return rules;
}

}  // namespace tilecast
