#include "cli/commands/retime_command.h"

#include <fmt/format.h>

#include "answers/documents.h"
#include "cli/views/retime_view.h"

namespace tilecast {

Result<std::string> run_retime(const RetimeOptions& options) {
  constexpr Count kMostRows = 10000;
  if (options.top < 1 || options.top > kMostRows)
    return field_error("top", fmt::format("must lie between 1 and {}", kMostRows), "for example 20");
  const auto report = retime(options.query);
  if (!report) return report.error();
  return options.json ? retime_json(*report) : retime_text(*report, options.top);
}

}  // namespace tilecast
