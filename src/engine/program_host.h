// The time PyTorch's host takes to issue a recorded program: every call by the kind of its operator.
#pragma once

#include "engine/program_run.h"

namespace tilecast {

// In plain additions, as engine/host_units.h counts; views and Python surround the operators.
double host_units(const ProgramFile& file, const RecordedProgram& recorded);

}  // namespace tilecast
