// Norms of images in training by PyTorch's own kernels (16 bits, channels first) beside the forecasts that recorded
// programs make of them: data/measurements/h200_norms.csv.gz.
#pragma once

#include "lab/evidence/convolutions.h"

namespace tilecast {

Result<std::vector<JudgedConvolution>> judge_norms(const std::string& table, const std::string& gpu,
                                                   const ModelSource& weights);

}  // namespace tilecast
