// The files of data/models as compiled in.
#pragma once

#include "support/embedded.h"

namespace tilecast {

std::span<const EmbeddedFile> embedded_model_files();

}  // namespace tilecast
