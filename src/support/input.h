// Whatever a user may name as an input, as a path that can be opened, seeked in and reopened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

// More than this through a pipe should be a file.
constexpr std::uint64_t kMostPiped = std::uint64_t{1} << 30;

// `path` itself if it is a regular file. "-" (standard input), pipes, FIFOs and process substitutions can be read only
// once, so they are read to their end at the first call and kept in a nameless temporary file, which later calls in
// this process find again.
Result<std::string> openable_path(const std::string& path);

// Whether anything is there; an odd path (too long, through a file) counts as nothing.
bool something_at(const std::string& path);

// Permanently restricts inputs to files below these folders and to files that came by value (support/given_file.h).
// Standard input is excluded. For programs that serve others; call it before the first thread.
void restrict_inputs(const std::vector<std::string>& folders);
bool inputs_restricted();
// Whether a path may be read under these rules; links are followed first.
bool is_allowed_input(const std::string& path);

// Whether reading it through openable_path() is reading a stream: "-", a pipe, a device.
bool is_stream(const std::string& path);

// The descriptor that "/dev/fd/N", "/proc/self/fd/N" or a link to them (/dev/stdout) stands for; -1 for other paths.
int descriptor_named(const std::string& path);

}  // namespace tilecast
