// The files of data/clusters and data/collectives as compiled in.
#pragma once

#include "support/embedded.h"

namespace tilecast {

std::span<const EmbeddedFile> embedded_cluster_files();
std::span<const EmbeddedFile> embedded_collective_files();

}  // namespace tilecast
