// The papers' own experiments, repeated on the same rows with any set of methods.
//
//   NeuSight  train on kernels_train of five NVIDIA GPUs, judge on kernels_test of six
//   cards     ... every GPU of kernels_test judged by the rows of all others, a quarter of the train tables' shapes
//   AMD       train on MI100's rows, judge on MI210's (both of kernels_test: the train tables hold no AMD products)
//   SynPerf   train on gemm_fp8_train of H20 and H800, judge on gemm_fp8_test
//   conv      NeuSight's convolutions, which have train rows only: every GPU judged by the other four
//   moe       SynPerf's sweep of the first product of SGLang's fused MoE: every GPU judged by the other five
//
// Sample of a table:
//   | family | GPU | rows | seen | neusight | roofline |
//   |---|---|---:|---|---:|---:|
//   | bmm | A100-PCIe-40GB | 2281 | yes | 21.3 % | 40.0 % |
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/evaluate/method.h"
#include "lab/train/train_all.h"

namespace tilecast {

// Rows to train on and rows to judge by. Nothing is in both, unless GPUs are left out in turn: then every row is.
struct Protocol {
  std::string name;
  std::unique_ptr<Names> names;  // owns the rows' texts
  std::vector<Measurement> rows;
  std::vector<std::size_t> train, judged;
  bool leave_one_out = false;  // every GPU judged by a training without it
};
// `folder` holds neusight/ and synperf/ (../shared/data).
Result<Protocol> neusight_protocol(const std::string& folder);
Result<Protocol> neusight_cards_protocol(const std::string& folder);
Result<Protocol> amd_protocol(const std::string& folder);
Result<Protocol> synperf_protocol(const std::string& folder);
Result<Protocol> conv_protocol(const std::string& folder);
Result<Protocol> moe_protocol(const std::string& folder);

// NeuSight's operators that have a test table, as its files are named.
std::span<const std::string_view> neusight_operators();

// A method in the comparison. It may look only at the rows named.
using Trainer = std::function<Result<std::unique_ptr<Forecaster>>(
    const std::vector<Measurement>& rows, std::span<const std::size_t> train, const Progress& progress)>;
struct Contender {
  std::string name;
  Trainer train;
};
Contender paper_contender(Method method, const MethodOptions& options);  // neusight or synperf
Contender roofline_contender();

// Every row forecast by a training that never saw its fold; `folds` has one name per row.
Result<std::vector<Outcome>> forecast_across_folds(const std::vector<Measurement>& rows,
                                                   const std::vector<std::string>& folds, const Trainer& train,
                                                   int threads, const Progress& progress);

struct ProtocolErrors {
  double mean = 0, median = 0, p90 = 0, bias = 0;
  double efficiency = 0;  // mean |measured - forecast| / forecast: the error of a measured efficiency, SynPerf's figure
  Count failed = 0;       // rows without a forecast, not in the rest
};
struct ProtocolLine {
  std::string family, gpu;  // GPU "all": the mean over GPUs
  Count rows = 0;
  bool seen = false;                   // rows of the GPU and family were trained on
  std::vector<ProtocolErrors> errors;  // one per contender
};
struct ProtocolReport {
  std::string name;
  std::vector<std::string> contenders;
  std::vector<std::unique_ptr<Forecaster>> trained;  // for further questions; none where GPUs are left out in turn
  std::vector<ProtocolLine> lines;                   // by family, then GPU, "all" last
};
Result<ProtocolReport> run_protocol(const Protocol& protocol, const std::vector<Contender>& contenders, int threads,
                                    const Progress& progress);
// Mean errors, one column per contender; with `efficiency`, a second one with SynPerf's figure.
std::string protocol_table(const ProtocolReport& report, bool efficiency);

}  // namespace tilecast
