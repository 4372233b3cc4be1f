// `tilecast-lab amd --data DIR`: AMD's cards, matrices held out and a card left out.
#pragma once

#include <string>

#include "lab/commands/shared.h"
#include "tilecast/result.h"

namespace tilecast {

struct AmdCommand {
  std::string data;     // the folder that holds aiter/ and aiconfigurator/
  Count sample = 1500;  // rows of AITER's, of each table, GPU, engine, family and dtype
  Count others = 100;   // ... of the cards beside them
  Count trees = 100;
  int threads = kThreads;
  std::string out;  // a page to write instead of printing text
};
Result<std::string> run_amd(const AmdCommand& command);

}  // namespace tilecast
