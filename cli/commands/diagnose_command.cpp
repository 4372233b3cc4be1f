#include "cli/commands/diagnose_command.h"

#include <fmt/format.h>

#include "answers/documents.h"
#include "cli/views/diagnose_view.h"
#include "support/file.h"
#include "support/output_file.h"

namespace tilecast {
namespace {

Status write_plots(const std::string& prefix, const DiagnosePlots& plots) {
  if (auto written = write_text_file(prefix + "_families.svg", plots.families); !written) return written;
  if (auto written = write_text_file(prefix + "_ceilings.svg", plots.ceilings); !written) return written;
  for (std::size_t i = 0; i < plots.busy.size(); ++i) {
    const std::string path = prefix + (i == 0 ? "_busy.svg" : fmt::format("_busy_{}.svg", i));
    if (auto written = write_text_file(path, plots.busy[i]); !written) return written;
  }
  return Ok{};
}

}  // namespace

Result<std::string> run_diagnose(const DiagnoseOptions& options) {
  constexpr Count kMostTop = 10000;
  if (options.top < 1 || options.top > kMostTop)
    return field_error("top", fmt::format("must lie between 1 and {}", kMostTop), "for example 20");
  if (!options.html.empty())
    if (auto fine = check_output(options.html, {options.query.trace}); !fine) return std::move(fine).error();
  const auto report = diagnose(options.query);
  if (!report) return report.error();
  if (!options.html.empty())
    if (auto written = write_text_file(options.html, diagnose_html(*report, options.top)); !written)
      return std::move(written).error();
  if (!options.svg.empty())
    if (auto written = write_plots(options.svg, diagnose_plots(*report)); !written) return std::move(written).error();
  return options.json ? diagnose_json(*report) : diagnose_text(*report, options.top);
}

}  // namespace tilecast
