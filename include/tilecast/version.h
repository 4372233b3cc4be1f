// The version of the library, and what it promises.
//
// Versions are MAJOR.MINOR.PATCH (semver.org). Within a major version from 1.0.0 on, and within a minor version before
// that:
//
// - What include/tilecast declares is stable: names, the meaning and unit of every field, the names of enumerators, and
//   the fields that errors name. Structs may gain fields, enumerations enumerators and functions overloads, so
//   initialise queries by field name and give every `switch` a default. There is no stable binary interface: compile
//   against the headers you link.
// - Names of arguments, the JSON that the program prints (docs/json.md), its exit codes, and description files of GPUs,
//   clusters and models stay readable.
// - Figures are not stable: forecasts, intervals and notes change as measurements and constants do, and CHANGELOG.md
//   says so. The wording of messages and of text output may change at any time.
//
// Nothing outside include/tilecast is public.
#pragma once

#include <string_view>

// Compared with the project's version when the library is compiled.
#define TILECAST_VERSION_MAJOR 0
#define TILECAST_VERSION_MINOR 2
#define TILECAST_VERSION_PATCH 0

namespace tilecast {

// The version of the linked library: "0.2.0".
std::string_view version();

}  // namespace tilecast
