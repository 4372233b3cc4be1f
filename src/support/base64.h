// Bytes as base64 text (RFC 4648, section 4), the form in which JSON carries files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilecast {

std::string base64_text(std::string_view bytes);
// Empty if the text is not base64: a foreign letter, a wrong length, bits after the last byte.
std::optional<std::string> base64_bytes(std::string_view text);

}  // namespace tilecast
