#include "cli/commands/calibrate_command.h"

#include <chrono>

#include "answers/documents.h"
#include "cli/views/calibrate_view.h"
#include "support/file.h"
#include "support/output_file.h"

namespace tilecast {

Result<std::string> run_calibrate(const CalibrateOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::string> read = options.query.data;
  read.push_back(options.query.judge);
  if (auto fine = check_output(options.out, read); !fine) return std::move(fine).error();
  const auto report = calibrate(options.query);
  if (!report) return report.error();
  if (auto saved = write_text_file(options.out, report->description); !saved) return std::move(saved).error();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const CalibrateRun run{options.out, options.query.judge, took.count()};
  return options.json ? calibration_json_text(*report, run) : calibration_text(*report, run);
}

}  // namespace tilecast
