// Plans beside NVIDIA's measurements: for each card, model and length in TensorRT-LLM's performance overview, the
// best throughput that `plan serve` finds on as many GPUs, and which card is best by either.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/weights.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct CardRow {
  std::string model, gpu, dtype, layout;  // layout as the table has it: "DEP4", "TP2"
  Count gpus = 1, input = 0, output = 0;
  double measured = 0;          // output tokens per second and GPU
  std::optional<double> price;  // dollars per hour and GPU
  struct Planned {
    double throughput = 0;  // as above
    std::string layout;
    Count in_flight = 0;
    double memory_gib = 0;  // weights of a GPU
    bool seen = false;
  };
  std::optional<Planned> planned;
  std::string why_not;  // ... if there is none
};

// The rows of the five models that the overview's releases 1.0 and 1.1 have, the best of each card and length; of all
// lengths, or of two that stand for short and long prompts (all take an hour of one core). `plan_cards` fills in the
// plans.
Result<std::vector<CardRow>> card_rows(const std::string& table, bool all_lengths = false);
void plan_cards(std::vector<CardRow>& rows, const ModelSource& weights);

// `all_lengths`: rows as measured at every length, to set two cards of one chip beside each other.
std::string card_report(const std::vector<CardRow>& rows, const std::vector<CardRow>& all_lengths = {});

}  // namespace tilecast
