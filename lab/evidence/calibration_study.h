// What measured rows of a card are worth: the GPU is left out of a training, then calibrated with some of its rows
// and judged on others.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "lab/train/train_all.h"

namespace tilecast {

inline constexpr std::array<std::size_t, 4> kStudySizes = {0, 30, 100, 300};  // rows to calibrate with
inline constexpr int kStudyDraws = 5;                                         // of such rows, at random

struct StudyLine {
  std::string group, gpu;                           // "GEMM bf16"
  Count rows = 0;                                   // of the GPU
  std::array<double, kStudySizes.size()> errors{};  // mean error of the remaining rows, over the draws
};
// AIConfigurator's rows of products, attention and experts among `rows`.
std::vector<StudyLine> study_calibration(const std::vector<Measurement>& rows, const TrainOptions& options,
                                         const Progress& progress);

// One real card: a minute's rows to calibrate with, and a longer sweep to judge by, at shapes that the minute lacked.
struct CardLine {
  std::string key;
  Count rows = 0;
  double before = 0, after = 0;
  Count trained_rows = 0;  // held-out shapes of weights that saw the sweep, and their error
  double trained = 0;
};
struct CardStudy {
  std::string gpu;
  Count fitted = 0;
  std::vector<CardLine> lines;
};
// `without` has never seen the card, `with` has.
CardStudy study_card(const std::vector<Measurement>& minute, const std::vector<Measurement>& sweep,
                     const Weights& without, const ModelSource& with, int threads);

std::string calibration_report(const std::vector<StudyLine>& lines, const CardStudy& card);

}  // namespace tilecast
