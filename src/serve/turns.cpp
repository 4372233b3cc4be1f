#include "serve/turns.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilecast {

Turns::Turns(const std::vector<Request>& requests) {
  if (std::none_of(requests.begin(), requests.end(), [](const Request& r) { return r.after >= 0; })) return;
  const std::size_t n = requests.size();
  first_.assign(n, -1), sibling_.assign(n, -1), root_.resize(n), chain_.resize(n), open_.assign(n, 0);
  for (std::size_t k = n; k-- > 0;) {  // so that siblings stand in their order
    const std::int32_t before = requests[k].after;
    if (before < 0) continue;
    sibling_[k] = first_[static_cast<std::size_t>(before)];
    first_[static_cast<std::size_t>(before)] = static_cast<std::int32_t>(k);
  }
  for (std::size_t i = 0; i < n; ++i) {  // a request stands behind the one it follows (check_turns)
    const Request& r = requests[i];
    const auto before = static_cast<std::size_t>(std::max(0, r.after));
    root_[i] = r.after < 0 ? static_cast<std::int32_t>(i) : root_[before];
    chain_[i] = r.after >= 0 && r.history ? chain_[before] : static_cast<std::int32_t>(i);
    ++open_[static_cast<std::size_t>(root_[i])];
  }
}

Status check_turns(const std::vector<Request>& requests) {
  std::vector<bool> continued;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& r = requests[i];
    if (r.after < 0) {
      if (r.history) return error(fmt::format("request {} has a history and follows nobody", i));
      continue;
    }
    if (static_cast<std::size_t>(r.after) >= i)
      return error(fmt::format("request {} follows {}, which does not stand before it", i, r.after));
    if (!(r.pause >= seconds(0))) return error(fmt::format("request {} has a negative pause", i));
    if (!r.history) continue;
    if (continued.empty()) continued.resize(requests.size());
    if (continued[static_cast<std::size_t>(r.after)])
      return error(fmt::format("request {} is continued by two turns", r.after), "a history has one turn at a time");
    continued[static_cast<std::size_t>(r.after)] = true;
  }
  return Ok{};
}

}  // namespace tilecast
