// Other values for tunable constants, carried by a Gpu that was measured, or while the laboratory fits or judges them.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "constants/constant.h"

namespace tilecast {

class TunedConstants {
 public:
  void set(const Tunable& constant, double value) {
    const auto at = find(constant);
    if (at != values_.end() && at->first == &constant) at->second = value;
    else values_.insert(at, {&constant, value});
  }
  double value(const Tunable& constant) const {
    const auto at = find(constant);
    return at != values_.end() && at->first == &constant ? at->second : constant.value;
  }

 private:
  using Entry = std::pair<const Tunable*, double>;
  std::vector<Entry>::const_iterator find(const Tunable& constant) const {
    return std::lower_bound(values_.begin(), values_.end(), &constant,
                            [](const Entry& entry, const Tunable* key) { return std::less<>()(entry.first, key); });
  }
  std::vector<Entry>::iterator find(const Tunable& constant) {
    return std::lower_bound(values_.begin(), values_.end(), &constant,
                            [](const Entry& entry, const Tunable* key) { return std::less<>()(entry.first, key); });
  }
  std::vector<Entry> values_;  // by address: every constant is one inline variable
};

}  // namespace tilecast
