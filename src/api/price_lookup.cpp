#include "api/price_lookup.h"

namespace tilecast {

Result<PriceLookup> PriceLookup::from(std::optional<double> given, const std::string& table) {
  PriceLookup prices;
  prices.given_ = given;
  prices.file_ = table;
  if (table.empty()) {
    prices.table_ = shipped_prices();
    return prices;
  }
  auto loaded = load_prices(table);
  if (!loaded) return std::move(loaded).error();
  prices.table_ = *std::move(loaded);
  return prices;
}

std::optional<PriceLookup::Found> PriceLookup::of(const std::string& gpu) const {
  if (given_) return Found{*given_, ""};
  const auto price = table_.of(gpu);
  if (!price) return std::nullopt;
  return Found{price->usd_per_hour, file_.empty() ? price->provider + ", read " + price->read_on : file_};
}

}  // namespace tilecast
