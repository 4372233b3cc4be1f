// Shapes as numbers and text, fast enough for tables of millions of rows: the same meaning as kernel.h's dims_text and
// shape_from, without a string for every field. Where anything is unusual the slow way answers, with its error
// messages.
#pragma once

#include <string>
#include <string_view>

#include "kernel/kernel.h"

namespace tilecast {

// Appends "m=4096;n=4096;k=4096": required fields and those that differ from their defaults.
void append_dims(std::string& out, const Shape& shape);

// The checked shape of a family (its exact name) from such text.
Result<Shape> read_dims(std::string_view family, std::string_view text);

// A hash of family and every dimension, the same on every machine and in every run: samples and held-out shapes are
// chosen by it, so that a shape is chosen on all GPUs and engines at once.
std::uint64_t shape_hash(const Shape& shape, std::uint64_t seed = 0);

// The held-out tenth of shapes.
bool held_out(const Shape& shape);

}  // namespace tilecast
