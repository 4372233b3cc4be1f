// Kernels that give every row (a token) to one CTA and walk it more than once: softmax, norms, gated activations.
#pragma once

#include <string_view>

#include "gpu/gpu.h"
#include "kernel/plan.h"
#include "kernel/pytorch.h"
#include "tilecast/result.h"

namespace tilecast {

// Rows and columns of a row-wise family: positive, no more rows than a grid has CTAs, rows no longer than an int can
// count (both are limits of the libraries' own kernels).
Status require_rows(Count rows, Count cols);

// First-level data cache that re-reads of a row can hit while `resident` CTAs of this shape share the SM; zero if
// global loads do not stay there reliably (before Volta, and AMD's 16 to 32 KiB).
Bytes row_cache(const CtaShape& cta, const Gpu& gpu);

struct RowKernel {
  std::string_view name;
  Count rows = 0;
  Count rows_per_cta = 1;
  CtaShape cta;
  Bytes read;        // per row, asked of memory for the first time
  Bytes reread;      // per row, asked again later: from L1 if the rows of the resident CTAs fit, otherwise from L2
  Bytes parameters;  // read by every row: once per SM if they stay in L1, otherwise once per CTA
  Bytes written;     // per row
  Bytes shared;      // per row through shared memory
  double slots = 0;  // per row, FMA pipe
  double xu = 0;     // per row
  double steps = 1;  // dependent loop iterations of a CTA
  DType vector_type = DType::fp32;
};
// The launch with its tasks; the family adds operands and required operations.
Launch row_launch(const RowKernel& kernel, const Gpu& gpu);

// The operand such a kernel reads row by row, `size` in all. If L1 cannot hold the rows of the resident CTAs, later
// passes over them hit L2 as far as the rows of all SMs, and what is written meanwhile, fit there.
Operand walked_operand(std::string_view name, Bytes size, Operand::Role role, const RowKernel& kernel, const Gpu& gpu);

// Slots of a reduction over a CTA's threads by warp shuffles, `combine` slots each step. Shuffle steps are log2(warp);
// the last one over warps is run by a single warp and left out.
double reduction_slots(int threads, const Gpu& gpu, double combine);

}  // namespace tilecast
