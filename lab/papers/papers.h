// What docs/papers.md shows: the papers' protocols in one report, and a re-trained NeuSight beside the original.
#pragma once

#include <string>
#include <vector>

#include "lab/evaluate/protocols.h"

namespace tilecast {

// A re-trained NeuSight beside NeuSight's own predictions, where they were published (NVIDIA rows of kernels_test).
struct PublishedAgreement {
  std::string family;  // or "all"
  Count rows = 0;
  double ours = 0, theirs = 0;  // mean errors against the measured times
  double apart = 0;             // mean |log(ours / theirs)|
  Count zero = 0;               // rows forecast as zero time, left out of `apart`
};
Result<std::vector<PublishedAgreement>> compare_published(const std::string& folder, const Forecaster& neusight);
std::string published_table(const std::vector<PublishedAgreement>& agreements);

struct PapersOptions {
  MethodOptions methods;
  std::vector<Contender> others;          // columns between the paper's method and the roofline: tilecast
  std::string only;                       // neusight, cards, amd, synperf, conv or moe; empty: all
  std::vector<std::string> only_methods;  // the contenders to run; empty: all
  int threads = 2;
};
// Markdown; `folder` as in protocols.h.
Result<std::string> papers_report(const std::string& folder, const PapersOptions& options, const Progress& progress);

}  // namespace tilecast
