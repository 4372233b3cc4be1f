#include "lab/commands/papers_command.h"

#include <algorithm>
#include <array>

#include "lab/evaluate/tilecast_method.h"
#include "lab/papers/papers.h"

namespace tilecast {

Result<std::string> run_papers(const PapersCommand& command) {
  if (command.epochs < 0 || command.epochs > 100000) return Error{"", "epochs", "must lie between 0 and 100000", ""};
  if (command.most_rows < 0) return Error{"", "most-rows", "must be zero (all) or more", ""};
  if (command.threads < 1 || command.threads > 64) return Error{"", "threads", "must lie between 1 and 64", ""};
  PapersOptions options;
  if (command.epochs > 0)
    options.methods.neusight.epochs = options.methods.synperf.epochs = static_cast<int>(command.epochs);
  options.methods.neusight.most_rows = options.methods.synperf.most_rows = command.most_rows;
  options.methods.neusight.threads = options.methods.synperf.threads = options.threads = command.threads;
  options.only = command.only;
  options.only_methods = command.methods;
  TrainOptions train;
  train.set_threads(command.threads);
  train.intervals = false;  // only errors are reported
  options.others = {tilecast_contender(train)};
  constexpr std::array<std::string_view, 4> kNames = {"neusight", "synperf", "tilecast", "roofline"};
  for (const std::string& name : command.methods)
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end())
      return Error{"", "methods", "must be of neusight, synperf, tilecast and roofline, not '" + name + "'", ""};
  return papers_report(command.data, options, {});
}

}  // namespace tilecast
