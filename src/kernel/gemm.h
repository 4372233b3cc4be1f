// Matrix products: plain (`gemm`) and batched (`bmm`), in every format of kernel/format.h.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/gemm_tile.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

// Which operand is transposed in memory, in BLAS's column-major terms: a linear layer is tn.
enum class Layout : std::uint8_t { tn, nn, nt, tt };
inline constexpr std::array<std::string_view, 4> kLayoutNames = {"tn", "nn", "nt", "tt"};
constexpr const auto& enum_names(Layout) { return kLayoutNames; }

struct Gemm {
  static constexpr FamilyInfo kFamily{"gemm", "matrix product y[m,n] = x[m,k] w[k,n], as a linear layer runs it",
                                      "--m 4096 --n 4096 --k 4096"};
  Count m = 0, n = 0, k = 0;
  Layout layout = Layout::tn;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("m", s.m, "rows of the result (tokens)", Need::required);
    visit("n", s.n, "columns of the result (output features)", Need::required);
    visit("k", s.k, "length of the sums (input features)", Need::required);
    visit("layout", s.layout, "operand layouts, column-major (default tn, a linear layer); taken to cost the same");
  }
  Status check() const;
};

struct Bmm {
  static constexpr FamilyInfo kFamily{"bmm", "batched matrix product of activations",
                                      "--batch 64 --m 1024 --n 1024 --k 64"};
  Count batch = 0, m = 0, n = 0, k = 0;
  Layout layout = Layout::nn;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("batch", s.batch, "independent products", Need::required);
    visit("m", s.m, "rows of each result", Need::required);
    visit("n", s.n, "columns of each result", Need::required);
    visit("k", s.k, "length of the sums", Need::required);
    visit("layout", s.layout, "operand layouts, column-major (default nn); taken to cost the same");
  }
  Status check() const;
};

Result<Plan> plan(const Gemm& shape, const Format& format, const Gpu& gpu, const Context& context);
Result<Plan> plan(const Bmm& shape, const Format& format, const Gpu& gpu, const Context& context);

// What the product needs regardless of its plan: operands and operations, no tasks. Allocates nothing; used for bounds.
Launch gemm_requirements(const GemmProblem& problem, const Format& format, const MathPath& math, bool weights);

// The whole launch under a choice of tile and split.
Launch gemm_launch(const GemmProblem& problem, const Format& format, const MathPath& math, bool weights,
                   const GemmChoice& choice);

}  // namespace tilecast
