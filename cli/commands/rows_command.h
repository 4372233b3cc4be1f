// Any question as rows: over ranges of its numbers, as CSV, as a plot (docs/cli.md).
#pragma once

#include <string>

#include "cli/terminal/program.h"

namespace tilecast {

struct RowsOptions {
  std::string question, query;  // as ask() takes them
  std::string heading;          // the same for people
  bool json = false, csv = false;
  std::string plot;    // a file, .svg or .png
  std::string plot_y;  // column that it draws; empty: the question's own
};

Answer run_rows(const RowsOptions& options);

}  // namespace tilecast
