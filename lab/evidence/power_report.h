// Times, clocks and watts of a card in bursts, windows of 20 ms, two seconds of load and at lower duty, beside their
// forecasts: data/measurements/h200_regimes.csv.gz.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimate/weights.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct Figures {
  double time = 0;              // seconds
  std::optional<double> clock;  // of the SMs, hertz
  std::optional<double> watts;  // of the card
};
struct PowerRow {
  std::string what;    // "products, bf16", "attention", "streams"
  std::string regime;  // burst, window, steady, duty
  std::string data;    // normal, zeros, constant, bits: what is multiplied
  Figures measured, forecast;
};
// What the first replay of a graph after a pause takes beyond its kernels, whatever these are: part of every burst's
// time, shared equally by the launches in it.
struct BurstStart {
  double seconds = 0;  // the middle of what bursts take more than windows of the same kernel
  Count kernels = 0;   // it was read off: all but products of bf16 and fp8, which are left to judge by
};
Result<BurstStart> burst_start(const std::string& path);

struct PowerRows {
  std::vector<PowerRow> rows;
  BurstStart start;
  std::map<std::string, Count> left_out;  // by reason: no kernel of ours, no forecast
};
Result<PowerRows> judge_power(const std::string& path, const std::string& gpu, const ModelSource& weights);

// Mean error and bias of one figure; rows without it do not count.
struct FigureErrors {
  Count rows = 0;
  double mean = 0, bias = 0;
};
FigureErrors errors_of(const std::vector<const PowerRow*>& rows, double (*ratio)(const PowerRow&));

std::string power_report(const PowerRows& judged);

}  // namespace tilecast
