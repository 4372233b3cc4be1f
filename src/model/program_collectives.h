// Collectives of a program over many cards: what DTensor and FSDP2 call, by torch.distributed's operators.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "model/program_file.h"
#include "model/program_rules.h"

namespace tilecast {

struct ProgramCollective {
  std::string_view op;     // as `tilecast collective` names it
  std::string_view group;  // of ProgramFile::groups
  double bytes = 0;        // the larger side: what is gathered, or what is scattered
  // It runs beside its stream, and whatever needs its result waits for it; otherwise its stream does.
  bool waited_for = false;
};

// Empty if the operator is not a collective.
std::optional<ProgramCollective> collective_of(const OperatorView& view);
bool waits_for_collective(std::string_view op);

std::span<const ProgramRule> program_collective_rules();  // no kernels of the program's own

}  // namespace tilecast
