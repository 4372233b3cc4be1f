// `tilecast-lab papers`: repeats the experiments of NeuSight and SynPerf.
#pragma once

#include <string>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct PapersCommand {
  std::string data;                  // the folder that holds neusight/ and synperf/
  std::string only;                  // neusight, cards, amd, synperf, conv or moe; empty: all
  std::vector<std::string> methods;  // neusight, synperf, tilecast, roofline; empty: all
  Count epochs = 0;                  // zero: the papers' own number
  Count most_rows = 20000;           // per network; zero: all
  int threads = 2;
  std::string out;  // a page to write instead of printing text
};
Result<std::string> run_papers(const PapersCommand& command);

}  // namespace tilecast
