// The chance that a load meets its objectives, over how fast its steps may turn out to run.
//
// What nobody knows of a deployment is above all the pace of its steps, all of them together: a factor whose logarithm
// is normal, with a spread of its own to either side. Times follow it in their own ways: that of a token nearly in
// proportion, a queue near saturation many times as much, and from the pace on at which requests come faster than they
// can be served, everybody is late in the long run. So simulations at a few paces say what the times are, and the
// chance is the share of all paces at which they are met, each time being off by something of its own besides.
#pragma once

#include <limits>
#include <vector>

#include "serve/step_width.h"

namespace tilecast {

// Paces by their place in the forecast's 80 % interval: -1 is its fast end, 0 the forecast, 1 its slow end.
struct PacedFigure {
  double limit = 0;        // the objective
  std::vector<double> at;  // what was simulated at each of the load's paces
  BesidePace beside;
};
struct PacedLoad {
  std::vector<double> paces;                                // ascending
  double breaks = std::numeric_limits<double>::infinity();  // from which pace on queues grow without end
  std::vector<PacedFigure> figures;
};

// Of meeting all of them: at a given pace they err independently.
double chance_of(const PacedLoad& load);

// The pace at which `rate` is the most that can be served, where that is `fast`, `middle` and `slow` at the paces of
// -1, 0 and 1.
double pace_that_saturates(double rate, double fast, double middle, double slow);

// Probability that a figure is at most `limit`: its logarithm is taken as normal about the forecast, four fifths of all
// cases within `beside`.
double chance_below(double limit, double forecast, const BesidePace& beside);

}  // namespace tilecast
