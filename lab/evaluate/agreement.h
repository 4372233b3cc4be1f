// Planned launches against what a profiler saw: grid size, tile, split.
#pragma once

#include <string>
#include <vector>

#include "lab/evaluate/evaluate.h"
#include "measure/measurement.h"

namespace tilecast {

struct Agreement {
  std::string source, family, gpu;
  Count grids = 0,
        grids_equal = 0;  // rows with a measured grid; of these, planned with as many CTAs in the main launch
  Count tiles = 0, tiles_equal = 0;  // rows with a measured tile; of these, planned with the same tile
  Count splits_equal = 0;            // ... and with the same split of the reduction
};

// Split of the reduction that a measured grid implies: CTAs over the tiles of the result; zero when it cannot be told
// (not a product, no tile, or a grid that is not a multiple of the tiles).
Count observed_split(const Measurement& row);

// Whether the rule that plans fp32 products was fitted on this row's shape (tools/plans/fit_cublas_fp32.py): the rows
// of NeuSight's kernels_train but a tenth, held out by crc32 of "op_B_M_N_K" with N the reduction.
bool plan_was_fitted(const Measurement& row);

// Rows the plans were fitted on are groups of their own ("neusight-train, fitted on"), never mixed with held-out ones.
// By source, family and GPU, in that order; rows without a measured grid are skipped.
std::vector<Agreement> compare_launches(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes);

}  // namespace tilecast
