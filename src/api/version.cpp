#include "tilecast/version.h"

#define TILECAST_TEXT_OF(x) #x
#define TILECAST_DOTTED(major, minor, patch) \
  TILECAST_TEXT_OF(major) "." TILECAST_TEXT_OF(minor) "." TILECAST_TEXT_OF(patch)

namespace tilecast {
namespace {

constexpr std::string_view kVersion =
    TILECAST_DOTTED(TILECAST_VERSION_MAJOR, TILECAST_VERSION_MINOR, TILECAST_VERSION_PATCH);
static_assert(kVersion == TILECAST_PROJECT_VERSION, "tilecast/version.h and project(VERSION) in CMakeLists.txt differ");

}  // namespace

std::string_view version() { return kVersion; }

}  // namespace tilecast
