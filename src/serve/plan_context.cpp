#include "serve/plan_context.h"

#include <algorithm>

namespace tilecast {

Count longest_request(const ServeQuery& query) {
  constexpr Count kDrawn = 10000;
  std::vector<Request> requests = query.recorded.requests;
  if (requests.empty()) {
    WorkloadOptions w = query.workload;
    w.requests = kDrawn;
    auto drawn = generate(w);
    if (!drawn) return w.input.mean + w.output.mean;
    requests = *std::move(drawn);
  }
  Count longest = 0;
  for (const Request& r : requests) longest = std::max(longest, r.input + r.longest());
  return longest;
}

Count context_limit_of(const ServeQuery& query, Count held) {
  if (query.context_limit > 0) return query.context_limit;
  constexpr double kSure = 0.9;     // of a forecast cache, what is there in any case
  constexpr double kLonger = 1.25;  // than the longest request, for those that follow
  constexpr Count kRounded = 1024;
  const auto sure = static_cast<Count>(kSure * static_cast<double>(held));
  if (query.model.max_context <= sure) return 0;
  const Count longest = longest_request(query);
  const Count roomy = round_up(static_cast<Count>(kLonger * static_cast<double>(longest)), kRounded);
  return std::min(std::max(longest, std::min(roomy, sure)), query.model.max_context);
}

}  // namespace tilecast
