// Two recordings of one program on one card, at different batches or lengths: what the kernels of the one say of those
// of the other. A call's forecast is the recorded time of the same call in the first recording times the ratio of the
// forecasts of the two shapes, as `retime` does between cards.
#pragma once

#include <string>
#include <vector>

#include "diagnose/work_groups.h"

namespace tilecast {

// All calls of one shape in the second recording that have their like in the first.
struct TransferredWork {
  WorkFamily family = WorkFamily::unknown;
  std::string op, name;  // of the second recording
  Count calls = 0;
  Seconds before, forecast, recorded;  // in the first; forecast for the second, and what it shows
  Seconds plain;                       // the forecast without the first recording
  double error() const { return forecast / recorded - 1; }
};

struct Transfer {
  std::vector<TransferredWork> work;  // by recorded time
  Seconds recorded, forecast, plain;  // of all work that was matched and has forecasts
  Seconds unmatched;                  // of the second recording's total: no like in the first, or no shape
  Seconds total;                      // of the second recording
};

Transfer transfer(const Recording& first, const Recording& second, const Gpu& gpu, const ModelSource* weights);

}  // namespace tilecast
