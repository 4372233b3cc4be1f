// Many products that share columns and depth but not rows, in one launch: y_e[rows_e, n] = x_e[rows_e, k] w_e[k, n].
#pragma once

#include <span>

#include "kernel/gemm_tile.h"
#include "kernel/plan.h"

namespace tilecast {

// `rows`: of each product, descending, none zero.
struct GroupedProblem {
  std::span<const Count> rows;
  Count n = 0, k = 0;

  Count tiles(const GemmTile& tile) const;
};

// The tile a library tuned for the shape chooses: the least cost over those offered, like choose_gemm, without split-K.
GemmChoice choose_grouped(const GroupedProblem& problem, const MathPath& math, const Gpu& gpu);

// The launch under a tile, without operands. Products with equally many tiles are one task group.
Launch grouped_launch(const GroupedProblem& problem, const Format& format, const MathPath& math,
                      const GemmChoice& choice);

}  // namespace tilecast
