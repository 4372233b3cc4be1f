// How a training's method is asked for, and what becomes of its run.
#pragma once

#include <vector>

#include "api/declare.h"
#include "engine/run.h"
#include "tilecast/train.h"

namespace tilecast {

// Its arguments; `scopes` hold for all of them.
void declare_training(Declare& list, TrainMethod& method, const std::vector<Scope>& scopes);

// The run that trains so: narrow products, adapters in the model, pairs in the batch. Refuses what contradicts itself.
Status apply(const TrainMethod& method, Run& run);

// Whether the card multiplies what a precision asks for.
Status check_card(const TrainMethod& method, const Gpu& gpu);

}  // namespace tilecast
