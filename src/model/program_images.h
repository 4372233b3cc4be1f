// Whether Inductor converts the images of a graph to channels last (PyTorch 2.11, torch/_inductor/graph.py,
// decide_layout_opt).
#pragma once

#include <vector>

#include "model/program_rules.h"

namespace tilecast {

// By graph number. A backward graph has the same image layout as the program's forward graphs.
std::vector<bool> graphs_with_images_last(const ProgramFile& program);

}  // namespace tilecast
