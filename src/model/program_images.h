// Whether Inductor turns the images of a graph channels last (PyTorch 2.11, torch/_inductor/graph.py, decide_layout_opt).
#pragma once

#include <vector>

#include "model/program_rules.h"

namespace tilecast {

// By the number of the graph. A backward graph has its images as the forward graphs of the program have them.
std::vector<bool> graphs_with_images_last(const ProgramFile& program);

}  // namespace tilecast
