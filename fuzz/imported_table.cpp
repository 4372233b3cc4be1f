#include "lab/evidence/counters.h"
#include "lab/import/import.h"
#include "memory_file.h"
#include "support/csv.h"
#include "targets.h"

namespace tilecast {
namespace {

std::string wrong_with_rows(const CsvReader& csv) {
  if (csv.header().empty()) return "a table without columns";
  for (std::size_t i = 0; i < csv.header().size(); ++i)
    if (csv[i].size() > LineReader::kMostLine) return "a field longer than any line";
  return "";
}

std::string read_all(CsvReader& csv) {
  while (true) {
    const auto more = csv.next();
    if (!more) return more.error().line().empty() ? "an error without a text" : "";
    if (!*more) return "";
    if (std::string wrong = wrong_with_rows(csv); !wrong.empty()) return wrong;
  }
}

}  // namespace

std::string fuzz_imported_table(std::string_view input) {
  const MemoryFile file(input);
  if (!file.complete()) return "";
  auto csv = CsvReader::open(file.path());
  if (!csv) return csv.error().line().empty() ? "an error without a text" : "";
  if (std::string wrong = read_all(*csv); !wrong.empty()) return wrong;
  std::string wrong;
  for (std::size_t source = 0; source < kSources; ++source) {
    Names names;
    const auto rows = import_rows(static_cast<Source>(source), file.path(), names, ReadOptions{},
                                  [&](const Measurement& row) -> Status {
                                    if (!(row.latency > seconds(0))) wrong = "a row without a positive time";
                                    return Ok{};
                                  });
    if (!rows && rows.error().line().empty()) return "an error without a text";
  }
  if (const auto counters = read_counters(file.path()); counters)
    for (const CounterRow& row : *counters)
      if (const auto kernel = kernel_of(row); !kernel && kernel.error().problem.empty())
        return "an error without a text";
  return wrong;
}

}  // namespace tilecast
