// Shapes as hashes: which rows are sampled, and which are held out.
#pragma once

#include <cstdint>

#include "kernel/shape_text.h"

namespace tilecast {

// A hash of family and every dimension, the same on every machine and in every run: samples and held-out shapes are
// chosen by it, so that a shape is chosen on all GPUs and engines at once.
std::uint64_t shape_hash(const Shape& shape, std::uint64_t seed = 0);

// The held-out tenth of shapes.
bool held_out(const Shape& shape);

}  // namespace tilecast
