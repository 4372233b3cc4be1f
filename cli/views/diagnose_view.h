// Views of a diagnosis; each takes values and returns text.
#pragma once

#include <string>
#include <vector>

#include "answers/documents.h"
#include "tilecast/diagnose.h"

namespace tilecast {

// Sample:
//
//   h200_eager.json.gz: PyTorch profiler trace of NVIDIA H200, against forecasts for H200-SXM
//   GPU work 11.5 ms in 427 launches; kernels recognised for 100 % of it, forecast for 93 %
//   device 0: 22.4 ms, busy 51 %, idle 49 % (host late 47 %, launched 2 %)
std::string diagnose_text(const DiagnosisReport& report, Count top);
// One page that needs nothing else: tables and drawings inside.
std::string diagnose_html(const DiagnosisReport& report, Count top);

// SVG: time by family; time of a call over its ceiling; busy share over time, one a device.
struct DiagnosePlots {
  std::string families, ceilings;
  std::vector<std::string> busy;
};
DiagnosePlots diagnose_plots(const DiagnosisReport& report);

// A shape as people write it: "gemm bf16 m=512 n=6144 k=4096"; the operator where it is not known.
std::string shape_words(const RecordedWork& work);
// A part of the whole, in percent.
std::string share_words(Seconds part, Seconds whole);
// What holds the work back, where known.
std::string limit_words(const RecordedWork& work);

}  // namespace tilecast
