// How much a gzip archive says, without keeping any of it.
#pragma once

#include <cstddef>
#include <string_view>

namespace tilecast {

// Whether bytes are an archive that unpacks to more than this; false of what is none, or broken before.
bool unpacks_to_more(std::string_view bytes, std::size_t most);

}  // namespace tilecast
