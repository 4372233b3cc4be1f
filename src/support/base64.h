// Bytes as texts of 64 letters (RFC 4648, section 4), as JSON carries files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilecast {

std::string base64_text(std::string_view bytes);
// Nothing where the text is none: a foreign letter, a wrong length, bits behind the last byte.
std::optional<std::string> base64_bytes(std::string_view text);

}  // namespace tilecast
