// Fits CommConstants to measured rows, and forecasts rows with each GPU left out.
//
// Curves are least squares in log2 of time, straight between whole numbers of v, with a small charge on bends; between
// rounds, each machine's two scales move by the mean of what is left at its short and at its long messages. Whatever
// still sets a machine apart from the curve is kept as a curve of its own, shrunk toward zero. All of this is linear
// algebra in thirty unknowns and takes a second.
#pragma once

#include <optional>
#include <vector>

#include "cluster/comm_constants.h"
#include "lab/fit/network_fit.h"
#include "lab/import/collective_rows.h"

namespace tilecast {

// From rows that are neither held out nor kept apart.
CommConstants fit_collectives(const std::vector<CollectiveRow>& rows);

struct CollectiveOutcome {
  Seconds forecast, low, high, bound;
  std::string standing;  // see SpreadKey
};
// In the rows' order.
Result<std::vector<CollectiveOutcome>> forecast_rows_of(const std::vector<CollectiveRow>& rows,
                                                        const CommConstants& constants);

struct CollectiveJudgement {
  std::vector<CollectiveRow> rows;
  CommConstants constants;  // with spreads: what is shipped
  // Of every row; `seen` counts at held-out sizes.
  std::vector<CollectiveOutcome> seen, without_gpu, without_architecture;
  std::optional<NetworkJudgement> networks;  // between nodes
};
Result<CollectiveJudgement> judge_collectives(std::vector<CollectiveRow> rows);

// With what was measured between nodes, where `folder` has it (collectives/): its judgement and its constants.
Status judge_between_nodes(const std::string& folder, CollectiveJudgement& judged);

}  // namespace tilecast
