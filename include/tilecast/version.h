// The version of the library, and what it promises.
//
// Versions are MAJOR.MINOR.PATCH (semver.org). Of one major version from 1.0.0 on, and of one minor version before it:
//
// - What include/tilecast declares stays: names, the meaning and unit of every field, the names of enumerators, and the
//   fields that errors name. Structs may gain fields, enumerations enumerators and functions overloads, so initialise
//   queries by the names of their fields and let a `switch` have a default. There is no promise of a binary interface:
//   compile against the headers you link.
// - Names of arguments, the JSON that the program prints (docs/json.md), its exit codes, and description files of GPUs,
//   clusters and models stay readable.
// - Figures are not promised: forecasts, intervals and notes change as measurements and constants do, and CHANGELOG.md
//   says so. Wording of messages and of text output may change at any time.
//
// Nothing outside include/tilecast is for use by others.
#pragma once

#include <string_view>

// Compared with the project's version when the library is compiled.
#define TILECAST_VERSION_MAJOR 0
#define TILECAST_VERSION_MINOR 2
#define TILECAST_VERSION_PATCH 0

namespace tilecast {

// Of the library that was linked: "0.2.0".
std::string_view version();

}  // namespace tilecast
