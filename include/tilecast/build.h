// Identifies this library: the sources it was built from, and the data its forecasts were learned from.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tilecast {

struct BuildInfo {
  std::string version;  // "0.2.0"
  std::string commit;   // of the sources, followed by "-modified" if they have changed since; "unknown" for a tarball
  std::string date;     // of the commit, "2026-11-16"; "unknown" for a tarball
  // The shipped weights: the file's checksum, and a hash of the names of the features they were trained on.
  std::string weights, features;
  std::string weights_date;  // of the commit that added them; "unknown" for a tarball
  std::int64_t models = 0;
  std::map<std::string, std::int64_t> trained_on;  // source of measurements -> rows
};
BuildInfo build_info();

// The same in a few lines, as `tilecast --version` prints it.
std::string build_text(const BuildInfo& build);

}  // namespace tilecast
