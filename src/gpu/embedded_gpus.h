// The files of data/gpus as compiled in.
#pragma once

#include "support/embedded.h"

namespace tilecast {

std::span<const EmbeddedFile> embedded_gpu_files();

}  // namespace tilecast
