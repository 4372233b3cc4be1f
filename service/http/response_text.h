// A response as the bytes of HTTP/1.1.
#pragma once

#include <string>

#include "service/http/message.h"

namespace tilecast {

// Without its body where `headless`.
std::string response_text(const HttpResponse& response, bool headless);

}  // namespace tilecast
