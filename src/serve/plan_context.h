// The longest request that a plan's servers are told to take. Engines reserve nothing for it, but vLLM refuses to start
// where one request of that length would not fit its cache, whose size is forecast and not known: so it stays well
// below what the cache should hold.
#pragma once

#include "serve/plan.h"

namespace tilecast {

// Prompt and answer, of the requests that the plan is made for; of lengths that are drawn, of ten thousand.
Count longest_request(const ServeQuery& query);

// Tokens, where a worker's cache should hold `held` of them; 0: the model's own context, which fits by a clear margin.
Count context_limit_of(const ServeQuery& query, Count held);

}  // namespace tilecast
