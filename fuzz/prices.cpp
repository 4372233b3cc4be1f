#include "cluster/prices.h"

#include <cmath>

#include "targets.h"

namespace tilecast {

std::string fuzz_prices(std::string_view input) {
  const auto prices = parse_prices(input, "fuzz.csv");
  if (!prices) return prices.error().problem.empty() ? "an error without a text" : "";
  for (const auto& [gpu, price] : prices->by_gpu)
    if (!std::isfinite(price.usd_per_hour) || price.usd_per_hour < 0) return "a price that is none";
  return "";
}

}  // namespace tilecast
