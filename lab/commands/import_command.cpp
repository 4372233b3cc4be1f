#include "lab/commands/import_command.h"

#include "lab/commands/shared.h"
#include "lab/import/import.h"

namespace tilecast {

Result<std::string> run_import(const ImportCommand& command) {
  const auto source = source_from(command.from);
  if (!source) return source.error();
  ReadOptions options;
  options.most_bad = command.most_bad;
  auto report = import_files(*source, command.files, command.out, options);
  if (!report) return std::move(report).error();
  return command.out + ": " + summary_of(*report);
}

}  // namespace tilecast
