#include "api/price_lookup.h"

#include <set>

#include "gpu/registry.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr double kMostAnHour = 1e6;

// "H200-SXM=3.1,B200=5"
Status put_prices(PriceTable& table, const std::string& text) {
  std::set<std::string> named;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto usd = equals == std::string::npos
                         ? std::nullopt
                         : number_between(std::string_view(part).substr(equals + 1), 0.0, kMostAnHour);
    if (!usd) return field_error("prices", "'" + part + "' is not a price", "H200-SXM=3.1,B200=5, or a file");
    const auto gpu = find_gpu(part.substr(0, equals));
    if (!gpu) return field_error("prices", gpu.error().problem, gpu.error().remedy);
    if (!named.insert(gpu->name).second)
      return field_error("prices", gpu->name + " has two prices", "one for each GPU");
    table.by_gpu[name_key(gpu->name)] = {*usd, "", ""};
  }
  return Ok{};
}

}  // namespace

Result<PriceLookup> PriceLookup::from(std::optional<double> given, const std::string& table) {
  PriceLookup prices;
  prices.given_ = given;
  if (table.empty() || table.find('=') != std::string::npos) {
    prices.table_ = shipped_prices();
    if (table.empty()) return prices;
    if (auto fine = put_prices(prices.table_, table); !fine) return fine.error();
    return prices;
  }
  prices.file_ = table;
  auto loaded = load_prices(table);
  if (!loaded) return std::move(loaded).error();
  prices.table_ = *std::move(loaded);
  return prices;
}

std::optional<PriceLookup::Found> PriceLookup::of(const std::string& gpu) const {
  if (given_) return Found{*given_, ""};
  const auto price = table_.of(gpu);
  if (!price) return std::nullopt;
  if (!file_.empty()) return Found{price->usd_per_hour, file_};
  return Found{price->usd_per_hour, price->provider.empty() ? "" : price->provider + ", read " + price->read_on};
}

}  // namespace tilecast
