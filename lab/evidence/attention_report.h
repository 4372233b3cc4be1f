// Attention of an H200 by implementation, forward and backward (data/measurements/h200_attention_rows.csv.gz): by the
// shipped weights, by plans alone, and by a training that was shown no row of an H200.
#pragma once

#include <string>
#include <vector>

#include "estimate/weights.h"
#include "lab/train/train_all.h"
#include "tilecast/result.h"

namespace tilecast {

struct AttentionLine {
  std::string family, kernel;  // "attention_prefill", "cudnn"
  Count rows = 0;
  double mean = 0, median = 0, bias = 0;
};
// How the rows were forecast, and what of them may be judged then.
struct AttentionPart {
  std::string title;
  std::vector<AttentionLine> lines;
};

// `tables`: others' measured rows, to train without an H200's; none: that part is left out.
Result<std::vector<AttentionPart>> judge_attention(const std::string& path, const Weights& shipped,
                                                   const std::vector<std::string>& tables,
                                                   const TrainAllOptions& training, int threads,
                                                   const Progress& progress);

std::string attention_report(const std::vector<AttentionPart>& parts);

}  // namespace tilecast
