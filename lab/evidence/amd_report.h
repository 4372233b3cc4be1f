// AMD's cards by trainings that saw less than the weights that ship: AITER's products and experts of MI300X-class cards
// (304 compute units) at matrices that were held out, and those of MI308X (80) with the card left out.
//
// A tuned table has a few matrices at hundreds of numbers of rows. Rows of one matrix resemble each other, so matrices
// are held out whole, and weigh the same in a mean however many rows they have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/train/train_all.h"
#include "measure/measurement.h"
#include "measure/outcome.h"

namespace tilecast {

inline constexpr std::string_view kAmdTrained = "MI300X", kAmdLeftOut = "MI308X";

// What a product or its experts multiply by, whatever the number of rows: "gemm;n=4096;k=7168".
std::string matrix_of(const Measurement& row);

struct AmdOptions {
  int folds = 5;  // parts into which the matrices are divided, each forecast by a training without it
  TrainOptions train;
  int threads = 1;
  Progress progress;
};
struct AmdJudged {
  std::string protocol;  // "matrices held out", "card left out"
  std::vector<Measurement> rows;
  std::vector<Outcome> outcomes;
};
// `rows` may hold other cards' too: they are trained on.
Result<std::vector<AmdJudged>> judge_amd(const std::vector<Measurement>& rows, const AmdOptions& options);

struct AmdErrors {
  Count rows = 0, matrices = 0;
  double by_matrix = 0;                   // mean over matrices of the mean error of a matrix's rows
  double mean = 0, median = 0, bias = 0;  // over rows
  double inside = 0;                      // share of rows within their 80 % interval
};
// By family and format; rows without a forecast are passed over.
std::map<std::pair<std::string, std::string>, AmdErrors> amd_errors(const AmdJudged& judged);

std::string amd_report(const std::vector<AmdJudged>& judged, const AmdOptions& options);

}  // namespace tilecast
