// `tilecast mcp`: the questions for an assistant, over standard input and output.
#pragma once

#include <string>
#include <vector>

#include "tilecast/arguments.h"

namespace tilecast {

struct McpOptions {
  std::vector<std::string> allow_files;  // folders whose files may be named by path
};
std::vector<BoundArgument> arguments_of(McpOptions& options);
const Question& mcp_question();

// Answers until input ends.
Status run_mcp(const McpOptions& options);

}  // namespace tilecast
