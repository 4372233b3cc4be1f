// Launches that stream: every CTA reads its share of some tensors, computes a few slots per element and writes its
// share of others. Normalisations, pointwise kernels, gathers, quantisers and optimizers share this form.
#pragma once

#include <initializer_list>
#include <string_view>

#include "gpu/gpu.h"
#include "kernel/plan.h"
#include "kernel/torch_release.h"
#include "tilecast/units.h"

namespace tilecast {

struct Stream {
  std::string_view name;
  Count ctas = 1;
  CtaShape cta;
  double elements = 0;  // what `slots` and `xu` are per
  double slots = 0;     // FMA-pipe issue slots per element
  double xu = 0;        // special-function results per element
  double certain = 0;   // of `slots`, those that no implementation can avoid
  double steps = 1;     // dependent rounds of one CTA over its share
  double passes = 1;    // times a CTA asks L2 for its share of what is read; rows that fit L1 are asked for once
  Character character = Character::streaming;
};

// Operand::size counts unique bytes; L2 loads are those of read operands times `passes`, stores those of written ones.
Launch streaming_launch(const Stream& stream, std::initializer_list<Operand> operands);

// Operands by role, so plans read as lists.
inline Operand reads(std::string_view name, double n) {
  return {name, bytes(n), Operand::Role::activation, true, false};
}
inline Operand writes(std::string_view name, double n) {
  return {name, bytes(n), Operand::Role::activation, false, true};
}
// In place: every byte is read and written once.
inline Operand updates(std::string_view name, double n) {
  return {name, bytes(n), Operand::Role::activation, true, true};
}
inline Operand weights(std::string_view name, double n) { return {name, bytes(n), Operand::Role::weight, true, false}; }
// Read again after another launch of the same plan has read or written it: no further compulsory traffic.
inline Operand rereads(std::string_view name, double n) {
  return {name, bytes(n), Operand::Role::workspace, true, false};
}
// Written for a later launch of the same plan; a fused implementation would not write it.
inline Operand scratch(std::string_view name, double n) {
  return {name, bytes(n), Operand::Role::workspace, false, true};
}

// PyTorch's launch of a pointwise kernel over `elements` of this size (pytorch.h).
Stream pointwise_stream(std::string_view name, double elements, Bytes element, const Gpu& gpu, double slots = 0,
                        double xu = 0, TorchRelease release = TorchRelease::current);

// Threads of a CTA that walks `items` with at most `most` threads, in whole warps.
constexpr int threads_for(Count items, int most) {
  const Count warps = ceil_div(items < 1 ? 1 : items, 32) * 32;
  return warps < most ? static_cast<int>(warps) : most;
}

}  // namespace tilecast
