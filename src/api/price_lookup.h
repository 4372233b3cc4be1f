// What a GPU costs an hour: as the query says, by its own table, or by the one shipped.
#pragma once

#include <optional>
#include <string>

#include "cluster/prices.h"

namespace tilecast {

class PriceLookup {
 public:
  // `table` is a file, or "H200-SXM=3.1,B200=5" in place of some of the shipped prices; empty: the shipped ones.
  static Result<PriceLookup> from(std::optional<double> given, const std::string& table);

  struct Found {
    double usd_per_hour = 0;
    std::string source;  // whose price it is; empty: the query's own
  };
  // Nothing where no price is known.
  std::optional<Found> of(const std::string& gpu) const;

 private:
  std::optional<double> given_;
  std::string file_;  // empty: the shipped table, perhaps with prices of one's own
  PriceTable table_;
};

}  // namespace tilecast
