// Measured convolutions beside the forecasts that recorded programs make of them:
// data/measurements/h200_convolutions.csv.gz and h200_convolution_layers.csv.gz, a row for every kernel that PyTorch
// launched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimate/weights.h"
#include "model/program_file.h"
#include "tilecast/result.h"

namespace tilecast {

// One direction of one convolution.
struct JudgedConvolution {
  std::string name, half, kind, dtype, direction;  // direction: forward, data or filter
  double measured = 0, forecast = 0;               // microseconds, all its kernels
};

// A row's convolution as the operator that PyTorch calls, its tensors among the file's layouts.
struct ConvolutionRow {
  std::string_view dtype, layout, side, kernel, direction;
  Count batch = 1, inputs = 1, outputs = 1, stride = 1, padding = 0, dilation = 1, groups = 1;
  bool transposed = false;
};
void add_convolution(ProgramFile& file, const ConvolutionRow& row);

// Forecasts of the file's calls, one for each row.
Status price_operators(ProgramFile& file, std::vector<JudgedConvolution>& rows, const std::string& gpu,
                       const ModelSource& weights);

Result<std::vector<JudgedConvolution>> judge_convolutions(const std::string& table, const std::string& gpu,
                                                          const ModelSource& weights);

// Errors of the cases that `wanted` accepts; empty: of all.
struct ConvolutionErrors {
  int count = 0;
  double mean = 0, median = 0;  // absolute, relative
  double bias = 0;              // of the sum of all times
};
struct ConvolutionChoice {
  std::string_view half, kind, direction;
};
ConvolutionErrors convolution_errors(const std::vector<JudgedConvolution>& all, const ConvolutionChoice& wanted);

struct ConvolutionTable {
  std::string title;
  std::vector<JudgedConvolution> rows;
};
std::string convolutions_report(const std::vector<ConvolutionTable>& tables);

}  // namespace tilecast
