// Flags of commands whose answers are rows as well: --csv, and where numbers may be ranges --plot.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/rows_command.h"
#include "cli/flags/arguments.h"

namespace tilecast {

enum class Ranges : unsigned char { taken, refused };

// What a command adds to the rows of its question.
struct RowsFlags {
  std::string question;                 // as ask() calls it
  std::vector<std::string> single = {};  // flags that are about one answer for people: tables and files of their own
};

// The flags; --json is the command's own.
void add_rows_flags(CLI::App& command, RowsOptions& options, Ranges ranges);

// The command as it is, or its rows where they are asked for: by --csv, by --plot or by a range. `kernel` of families
// stands one level above what is parsed.
Command with_rows(const CLI::App& command, RowsFlags flags, RowsOptions& options, const Refusal& refusal,
                  Command single);

}  // namespace tilecast
