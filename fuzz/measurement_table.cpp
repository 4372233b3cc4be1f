#include <sys/mman.h>
#include <unistd.h>

#include "measure/dims.h"
#include "measure/measurement.h"
#include "targets.h"

namespace tilecast {
namespace {

// The readers take paths: a file in memory has one too.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : descriptor_(memfd_create("fuzz", 0)) {
    const ssize_t wrote = write(descriptor_, text.data(), text.size());
    complete_ = wrote == static_cast<ssize_t>(text.size());
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  bool complete() const { return complete_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
  bool complete_ = false;
};

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
