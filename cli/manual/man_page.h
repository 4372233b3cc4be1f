// Manual pages (man(7)), one for each command.
#pragma once

#include <string>
#include <vector>

#include "cli/manual/command_tree.h"

namespace tilecast {

struct ManPage {
  std::string name;  // "tilecast-plan-serve.1"
  std::string text;
};

// `date`: "2026-11-16", of the program's last change.
std::vector<ManPage> man_pages(const CommandNode& program, const std::string& date);

}  // namespace tilecast
