// When a fused program's storages are made and let go, and which lie in another's place.
#pragma once

#include <vector>

#include "model/program_fuse.h"
#include "model/program_inline.h"

namespace tilecast {

// Fills in `born` and `dies`, and adds to `inside` what needs no memory of its own.
void lay_out_storages(const ProgramFile& program, const std::vector<FuseKind>& kinds, const InlinedProgram& inlined,
                      FusedProgram& made);

}  // namespace tilecast
