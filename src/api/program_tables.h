// A recorded program's forecast by phase, operator, class and module.
#pragma once

#include "engine/program_run.h"
#include "tilecast/program.h"

namespace tilecast {

void add_shares(ProgramStep& step, const ProgramFile& file, const RecordedProgram& recorded,
                const ProgramForecast& forecast);
void add_modules(ProgramStep& step, const ProgramFile& file, const RecordedProgram& recorded,
                 const ProgramForecast& forecast);
ProgramMemory memory_of(const ProgramFile& file, const RecordedProgram& recorded, const Gpu& gpu);

}  // namespace tilecast
