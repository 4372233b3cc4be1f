// Assigning weighted tasks to equal SMs, whatever the weights mean.
#pragma once

#include <span>
#include <vector>

#include "kernel/plan.h"
#include "tilecast/units.h"

namespace tilecast {

// Equal tasks: how many, and how long each keeps an SM busy.
struct Batch {
  Count count = 0;
  double weight = 0;
};

// The SM that ends up with most work: its tasks of each batch, and their weights' sum.
struct Busiest {
  std::vector<double> runs;
  double weight = 0;
};

// Each task goes to the SM that is free first, batch after batch. A batch costs a few steps, however large it is.
Busiest hand_out_grouped(std::span<const Batch> batches, Count sms);

// The same with one task of each batch in turn, so that no two neighbours are equal. An SM runs `resident` tasks
// concurrently, which share its pipes; every SM gets a first one before any gets a second. Exact up to a few thousand
// tasks; beyond that, all but the last few thousand are assumed to be level.
Busiest hand_out_interleaved(std::span<const Batch> batches, Count sms, int resident);

// Task number i goes to SM i modulo their number, whatever it weighs.
Busiest hand_out_strided(std::span<const Batch> batches, Count sms, Order order);

}  // namespace tilecast
