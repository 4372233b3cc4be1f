// The files of data/clusters, data/collectives, data/fabrics and data/prices as compiled in.
#pragma once

#include "support/embedded.h"

namespace tilecast {

std::span<const EmbeddedFile> embedded_cluster_files();
std::span<const EmbeddedFile> embedded_collective_files();
std::span<const EmbeddedFile> embedded_fabric_files();
std::span<const EmbeddedFile> embedded_price_files();

}  // namespace tilecast
