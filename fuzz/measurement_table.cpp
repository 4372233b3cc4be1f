#include "measure/dims.h"
#include "measure/measurement.h"
#include "memory_file.h"
#include "targets.h"

namespace tilecast {
namespace {

std::string problem_of(const Measurement& row) {
  if (!(row.latency > seconds(0))) return "a row without a positive time";
  std::string dims;
  append_dims(dims, row.kernel.shape);
  const auto again = read_dims(family_of(row.kernel.shape), dims);
  if (!again || dims_text(*again) != dims_text(row.kernel.shape)) return "dims do not read back: " + dims;
  return "";
}

}  // namespace

std::string fuzz_measurement_table(std::string_view input) {
  const MemoryFile file(input);
  if (!file.complete()) return "";
  Names names;
  std::string wrong;
  const auto read = read_measurements(file.path(), names, ReadOptions{}, [&](const Measurement& row) -> Status {
    if (wrong.empty()) wrong = problem_of(row);
    return Ok{};
  });
  if (!read && read.error().line().empty()) return "an error without a text";
  return wrong;
}

}  // namespace tilecast
