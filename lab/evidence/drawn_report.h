// Single kernels of PyTorch on an H200 at shapes drawn at random, which no training read, beside their forecasts by the
// shipped weights: kernels of all kinds (data/measurements/h200_draw_judge.csv.gz), and products and look-ups where
// forecasts of the first erred most (h200_products_judge.csv.gz).
#pragma once

#include <string>

#include "estimate/weights.h"
#include "lab/evaluate/evaluate.h"
#include "lab/evidence/visible.h"
#include "tilecast/result.h"

namespace tilecast {

// By family, format and kernel. An error if the weights were trained on the table.
Result<std::vector<Group>> judge_drawn(const std::string& path, const Weights& shipped, int threads);

// The same for pages that quote them: of products by format, of attention by kernel.
VisibleFigures drawn_figures(const std::vector<Group>& groups);

std::string drawn_report(const std::vector<Group>& groups);
std::string drawn_products_report(const std::vector<Group>& groups);

}  // namespace tilecast
