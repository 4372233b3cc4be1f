// Roles of imported graphs, whose operators are known by their names alone: the one place that reads them.
#pragma once

#include <string_view>

#include "model/graph.h"

namespace tilecast {

Role role_from_name(std::string_view name, const Shape& shape);

// Gives every operator of an imported section its role and block, and the section what its name says.
void label_by_name(Section& section);

}  // namespace tilecast
