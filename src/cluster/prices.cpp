#include "cluster/prices.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "cluster/cluster.h"
#include "cluster/embedded_clusters.h"
#include "gpu/registry.h"
#include "support/file.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr double kMostAnHour = 1e6;

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> price_from(std::string_view text) { return number_between(text, 0.0, kMostAnHour); }

}  // namespace

std::optional<Price> PriceTable::of(std::string_view gpu) const {
  const auto found = by_gpu.find(name_key(gpu));
  return found == by_gpu.end() ? std::nullopt : std::optional(found->second);
}

Result<PriceTable> parse_prices(std::string_view text, const std::string& place) {
  PriceTable table;
  std::vector<std::string> header;
  int number = 0;
  for (const std::string& raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> cells = split(line, ',');
    if (header.empty()) {
      header = cells;
      for (std::string& name : header) name = trimmed(name);
      for (const char* needed : {"gpu", "usd_per_hour"})
        if (std::find(header.begin(), header.end(), needed) == header.end())
          return Error{place, needed, "column is missing", "the first line names the columns: gpu,usd_per_hour"};
      continue;
    }
    const auto cell = [&](std::string_view name) {
      const auto at = static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
      return at < header.size() && at < cells.size() ? std::string(trimmed(cells[at])) : std::string();
    };
    const auto price = price_from(cell("usd_per_hour"));
    if (!price || cell("gpu").empty())
      return Error{place + ":" + std::to_string(number), "usd_per_hour",
                   "'" + cell("usd_per_hour") + "' is not a price for '" + cell("gpu") + "'",
                   "for example H100-SXM,2.50"};
    const auto known = find_gpu(cell("gpu"));  // by any of its names; a card of one's own has its own
    const std::string key = name_key(known ? known->name : cell("gpu"));
    if (!table.by_gpu.try_emplace(key, Price{*price, cell("provider"), cell("read_on")}).second)
      return Error{place + ":" + std::to_string(number), "gpu", "'" + cell("gpu") + "' has a price above",
                   "one line for each GPU"};
  }
  if (table.by_gpu.empty()) return Error{place, "", "has no prices", "columns gpu,usd_per_hour"};
  return table;
}

Result<PriceTable> load_prices(const std::string& path) {
  const auto text = read_text_file(path, kMostClusterFile);
  if (!text) return text.error();
  return parse_prices(*text, path);
}

const PriceTable& shipped_prices() {
  static const PriceTable table = [] {
    auto parsed = parse_prices(embedded_price_files().front().text, "data/prices/prices.csv");
    assert(parsed.ok() && "the price table is broken; prices_test says where");
    return parsed ? *std::move(parsed) : PriceTable{};
  }();
  return table;
}

}  // namespace tilecast
