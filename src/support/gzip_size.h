// The unpacked size of a gzip archive, without keeping any of it.
#pragma once

#include <cstddef>
#include <string_view>

namespace tilecast {

// Whether bytes are an archive that unpacks to more than this; false if it is not an archive, or broken before that.
bool unpacks_to_more(std::string_view bytes, std::size_t most);

}  // namespace tilecast
