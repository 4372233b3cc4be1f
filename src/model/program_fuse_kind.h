// What a recorded operator is to torch.compile's fusion: a loop over elements, a sum along rows or down columns,
// additions at places that a tensor names, nothing at all, or a kernel that stays apart.
#pragma once

#include <string_view>

#include "model/program_inline.h"
#include "model/program_rules.h"

namespace tilecast {

// `in_graph`: the record is of the graph that Inductor got, which lowers nearly everything to loops.
FuseKind kind_of_operator(const OperatorView& view, std::string_view phase, bool in_graph);

// What an operator adds at places that a tensor names; zero for all others.
Count scattered_elements(const OperatorView& view);
double scattered_bytes(const OperatorView& view);

}  // namespace tilecast
