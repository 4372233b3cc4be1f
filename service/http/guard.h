// Who may ask: the token, and what keeps pages of other sites from asking through a visitor's browser.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/http/message.h"

namespace tilecast {

struct HttpGuard {
  std::string token = {};                 // empty: none is needed
  bool loopback = true;                   // listens at the machine's own address alone
  std::vector<std::string> hosts = {};    // names it may be asked by beside the machine's own
  std::vector<std::string> origins = {};  // other sites whose pages may ask
};

// Why a request may not be answered, if so.
std::optional<HttpResponse> refused_by(const HttpGuard& guard, const HttpRequest& request);

// What tells a browser that the page of an allowed site may read the answer; none for others.
HttpFields origin_fields(const HttpGuard& guard, const HttpRequest& request);

// Whether two texts are the same, in a time that depends on their lengths alone.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace tilecast
