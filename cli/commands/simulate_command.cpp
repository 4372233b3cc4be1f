#include "cli/commands/simulate_command.h"

#include "answers/documents.h"
#include "cli/terminal/countdown.h"
#include "cli/views/simulate_view.h"
#include "support/file.h"
#include "support/output_file.h"

namespace tilecast {

Result<std::string> run_simulate(const SimulateOptions& options) {
  if (!options.query.sweep.empty() && (!options.requests.empty() || !options.timeline.empty()))
    return field_error("sweep", "has no --requests or --timeline of its own", "run one load at a time for those");
  // A file that cannot be written shows at once, not after the run.
  for (const std::string& path : {options.requests, options.timeline})
    if (!path.empty())
      if (auto fine = check_output(path, {options.query.trace}); !fine) return fine.error();
  Countdown countdown("simulating");
  const auto run = simulate(options.query, [&](double share) { countdown(share); });
  if (!run) return run.error();
  if (!options.requests.empty())
    if (auto written = write_text_file(options.requests, requests_csv(run->loads.front().outcome)); !written)
      return std::move(written).error();
  if (!options.timeline.empty())
    if (auto written = write_text_file(options.timeline, timeline_json(*run)); !written)
      return std::move(written).error();
  return options.json ? simulate_json(*run) : simulate_text(options.query, *run);
}

}  // namespace tilecast
