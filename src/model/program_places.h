// When a fused program's storages are allocated and freed, and which reuse another's memory.
#pragma once

#include <vector>

#include "model/program_fuse.h"
#include "model/program_inline.h"

namespace tilecast {

// Fills in `born` and `dies`, and adds to `inside` what needs no separate memory.
void lay_out_storages(const ProgramFile& program, const std::vector<FuseKind>& kinds, const InlinedProgram& inlined,
                      FusedProgram& made);

}  // namespace tilecast
