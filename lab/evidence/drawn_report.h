// Single kernels of PyTorch on an H200 at shapes drawn at random (data/measurements/h200_draw_judge.csv.gz), which no
// training read, beside their forecasts by the shipped weights.
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

}  // namespace tilecast
