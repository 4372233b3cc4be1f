// The files of data/plans as compiled in.
#pragma once

#include "support/embedded.h"

namespace tilecast {

std::span<const EmbeddedFile> embedded_plan_files();

}  // namespace tilecast
