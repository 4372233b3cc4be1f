// `tilecast diagnose TRACE`: a recorded run against the forecast.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "support/result.h"

namespace tilecast {

struct DiagnoseOptions {
  std::string trace;
  std::string gpu;      // empty: the one the file names
  std::string weights;  // of `tilecast train`; empty: the shipped ones
  std::string html;     // also write this page
  std::string svg;      // also write its plots to files whose names start so
  Count top = 15;       // kernels listed
  bool json = false;
};

Result<std::string> run_diagnose(const DiagnoseOptions& options);

// No real run has so many different kernels; reports of hostile files stay small.
inline constexpr std::size_t kMostListed = 20000;

// Views; each takes values and returns text. Sample of the first:
//
//   h200_eager.json.gz: PyTorch profiler trace of NVIDIA H200, against forecasts for H200-SXM
//   GPU work 11.5 ms in 427 launches; kernels recognised for 100 % of it, forecast for 93 %
//   device 0: 22.4 ms, busy 51 %, idle 49 % (host late 47 %, launched 2 %)
std::string diagnose_text(const Diagnosis& diagnosis, Count top);
std::string diagnose_json(const Diagnosis& diagnosis);
// One page that needs nothing else: tables and drawings inside.
std::string diagnose_html(const Diagnosis& diagnosis, Count top);

// SVG: time by family; time of a call over its ceiling; busy share over time, one a device.
struct DiagnosePlots {
  std::string families, ceilings;
  std::vector<std::string> busy;
};
DiagnosePlots diagnose_plots(const Diagnosis& diagnosis);

// A group's shape as people write it: "gemm bf16 m=512 n=6144 k=4096"; empty where it has none.
std::string shape_words(const WorkGroup& group);
// What holds a group back, where known.
std::string limit_words(const WorkGroup& group);

}  // namespace tilecast
