// Roles in imported graphs, whose operators are known only by name: the only code that interprets names.
#pragma once

#include <string_view>

#include "model/graph.h"

namespace tilecast {

Role role_from_name(std::string_view name, const Shape& shape);

// Gives every operator of an imported section its role and block, and the section what its name says.
void label_by_name(Section& section);

}  // namespace tilecast
