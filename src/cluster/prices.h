// What renting a GPU costs (data/prices/prices.csv, or a file of the user's own).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

struct Price {
  double usd_per_hour = 0;
  std::string provider, read_on;  // whose list, and when it was read; may be empty
};

struct PriceTable {
  std::map<std::string, Price> by_gpu;  // by GPU name, case and punctuation forgiven
  std::optional<Price> of(std::string_view gpu) const;
};

// CSV with the columns gpu and usd_per_hour (others are optional); lines that start with # are skipped.
Result<PriceTable> parse_prices(std::string_view text, const std::string& place);
Result<PriceTable> load_prices(const std::string& path);
const PriceTable& shipped_prices();

}  // namespace tilecast
