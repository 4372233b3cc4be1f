#include "lab/commands/amd_command.h"

#include "lab/evidence/amd_report.h"
#include "lab/import/import.h"
#include "measure/sample.h"
#include "measure/traps.h"

namespace tilecast {

Result<std::string> run_amd(const AmdCommand& command) {
  if (command.sample < 1 || command.others < 0)
    return Error{"", command.sample < 1 ? "sample" : "others", "must be rows", "1500 and 100 are the page's"};
  if (command.trees < 1 || command.trees > 10000)
    return Error{"", "trees", "must lie between 1 and 10000", "100 suffice"};
  Names names;
  std::vector<Measurement> rows;
  for (const auto& [source, number] :
       {std::pair<std::string, Count>{"aiter", command.sample}, {"aiconfigurator", command.others}}) {
    if (number == 0) continue;
    const auto paths = tables_of_sources(command.data, {source});
    if (!paths) return paths.error();
    Sampler sampler({number, 0});
    for (const std::string& path : *paths) {
      const auto read = read_any(path, names, ReadOptions{}, [&](const Measurement& row) {
        const std::string_view family = family_of(row.kernel.shape);
        if ((family == "gemm" || family == "bmm" || family == "moe") && trap_of(row).empty()) sampler.offer(row);
        return Status(Ok{});
      });
      if (!read) return read.error();
    }
    for (Measurement& row : sampler.take()) rows.push_back(std::move(row));
  }
  AmdOptions options;
  options.train.set_trees(static_cast<int>(command.trees));
  options.train.set_threads(command.threads);
  options.threads = command.threads;
  options.progress = terminal_progress();
  const auto judged = judge_amd(rows, options);
  if (!judged) return judged.error();
  const std::string report = amd_report(*judged, options);
  return page_or_text(report, "amd", command.out);
}

}  // namespace tilecast
