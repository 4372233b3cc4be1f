// Cards judged by trainings that never saw them: what forecasts and intervals for unseen cards are based on.
#pragma once

#include <string>
#include <vector>

#include "lab/train/fit_data.h"

namespace tilecast {

// Rows of one card, and what a training without it makes of them.
struct LeftOut {
  // Targets: log of the measured over the physics' time. Feature::card tells the rows of kernels that were trained on
  // with a card of the same architecture (kSiblingSeen) from the others (kNothingSeen).
  BoostData data;
  std::vector<float> learned;        // log of what was learned elsewhere over the physics' time
  double likeness = 0;               // to the most alike card that was trained on
  std::string vendor, architecture;  // architecture_key: its cards may have been left out together
  double weight = 1;  // cards of one architecture, left out together, tell the same thing
  // Of each row, in what is carried over; empty: all one. What rows of another protocol than most are off by is no
  // card's own.
  std::vector<float> told = {};
};

// Every card, and every architecture, in turn left out of a smaller training; cards without another of their vendor
// are skipped. `like` are the options of the general forest.
std::vector<LeftOut> left_out_in_turn(std::span<const PlannedRow* const> rows, const BoostOptions& like);

}  // namespace tilecast
