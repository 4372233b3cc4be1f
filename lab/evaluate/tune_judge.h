// The tuner against measured configurations: our H200 sweeps (data/measurements) and SynPerf's near-best lists
// (moe_configs/), as the tables of docs/tune.md.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "kernel/gemm_tile.h"
#include "kernel/moe.h"
#include "tilecast/result.h"
#include "tune/rank.h"

namespace tilecast {

// One shape and the times of many configurations of it.
struct TunedShape {
  std::string layer;  // of a fused MoE; empty for a plain product
  Moe moe;
  GemmProblem gemm;
  std::map<TritonConfig, double> us;        // of all passes
  std::map<TritonConfig, double> in_turns;  // those timed side by side; the exhaustive best is one of them
  double library_us = 0;                    // cuBLAS, beside a plain product

  Count tokens() const { return layer.empty() ? gemm.m : moe.tokens; }
};

// The constants of tune/triton_cost.h were fitted to these layers.
bool fitted_to(const std::string& layer);

// `sweep` has every configuration, `again` the best ones timed in turns (tools/tune/sweep.py, gemm_sweep.py). Times of
// `sweep` alone are scaled by the shape's median of again over sweep: clocks differ between the two.
Result<std::vector<TunedShape>> read_moe_sweep(const std::string& sweep, const std::string& again);
Result<std::vector<TunedShape>> read_gemm_sweep(const std::string& sweep, const std::string& again);

// Times over the exhaustive best.
struct TuneOutcome {
  double vllm = 0, sglang = 0;  // the engines' defaults; zero where there are none
  double first = 0;             // our zero-run pick
  double best_of_five = 0;
  double library = 0;
};
Result<TuneOutcome> judge_shape(const TunedShape& shape, const Gpu& gpu, const TritonConstants& constants = {});

// Lists of configurations within 1 % of the best (moe_dse_*_99.csv.gz): how often our first five are among them.
struct NearBest {
  int shapes = 0;
  int first_inside = 0, five_inside = 0;
  int vllm_inside = 0, sglang_inside = 0;  // the engines' defaults
  double listed_share = 0;                 // of the configurations we rank, on average: the chance of a random pick
};
// The least time of each shape in such a list: tokens, experts, topk, hidden, inter to us.
Result<std::map<std::array<Count, 5>, double>> near_best_times(const std::string& path);
Result<NearBest> judge_near_best(const std::string& path, const Gpu& gpu);

double geometric_mean(const std::vector<double>& values);

// Markdown. `measurements`: data/measurements; `folder`: SynPerf's moe_configs.
Result<std::string> tune_tables_h200(const std::string& measurements);
Result<std::string> tune_table_synperf(const std::string& folder);

}  // namespace tilecast
