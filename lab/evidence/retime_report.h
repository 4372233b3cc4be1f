// Recordings of one program at several batch sizes and lengths: the kernels of each, forecast from every other, as
// `tilecast retime` does between cards. data/measurements/traces/h200_programs.
#pragma once

#include <string>
#include <vector>

#include "diagnose/transfer.h"

namespace tilecast {

struct TransferredPair {
  std::string program, from, to;  // "gpt2-training-eager"; "batch4_length1024" ...
  Transfer transfer;
};
// Files of `folder` are named PROGRAM-SIZES.json.gz; those of one program are paired both ways.
Result<std::vector<TransferredPair>> judge_transfers(const std::string& folder, const std::string& gpu,
                                                     const ModelSource& weights);

std::string transfer_report(const std::vector<TransferredPair>& pairs);

}  // namespace tilecast
