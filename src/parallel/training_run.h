// A training from its first step to its last: steps, checkpoints, and what failures cost.
//
// Failures come at random and independently of each other (a Poisson process). Each stops the whole run, which starts
// again from its last checkpoint. With a mean time M between failures, a checkpoint that takes d and a restart that
// takes R, work of length w between two checkpoints takes on average (Daly, "A higher order estimate of the optimum
// checkpoint interval for restart dumps", Future Generation Computer Systems 22, 2006)
//
//   M e^(R / M) (e^((w + d) / M) - 1)
//
// and the share w of it is the goodput.
#pragma once

#include "tilecast/units.h"

namespace tilecast {

// What stops a run, and what saves it.
struct Reliability {
  Seconds gpu_failure;     // mean time between failures of one GPU with its share of what is around it; 0: none
  Seconds restart;         // from a failure to the next useful step
  BytesPerSecond storage;  // at which all GPUs together write a checkpoint; 0: at once
  Seconds interval;        // of work between two checkpoints; 0: the best
};

// The length of work between two checkpoints that loses least: the root of 1 - e^(-(w + d) / M) = w / M. Without
// failures there is none, and the answer is zero.
Seconds best_checkpoint_interval(Seconds between_failures, Seconds checkpoint);

// The share of time in which a run advances, from 0 to 1; 1 where nothing fails and nothing is saved.
double goodput(Seconds between_failures, Seconds checkpoint, Seconds restart, Seconds interval);

// What a run of so much undisturbed work is in the end.
struct RunTime {
  Seconds total;             // with checkpoints, failures and restarts; without end where goodput is 0
  double goodput = 1;        // undisturbed over total
  double failures = 0;       // that it meets, on average
  Seconds between_failures;  // of all GPUs together; 0: none
  Seconds interval;          // of work between two checkpoints; 0: none are taken
  Seconds checkpoint;        // what one takes
};
RunTime run_time(Seconds undisturbed, int gpus, Bytes checkpoint, const Reliability& reliability);

}  // namespace tilecast
