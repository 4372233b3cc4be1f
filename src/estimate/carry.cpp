#include "estimate/carry.h"

#include <algorithm>
#include <cmath>

#include "constants/estimate.h"
#include "estimate/learned.h"

namespace tilecast {

using namespace constants;

double likeness(const Gpu& a, const Gpu& b) {
  if (architecture_key(a) != architecture_key(b)) return 0;
  const double apart = std::max(std::abs(std::log(static_cast<double>(a.sms) / b.sms)),
                                std::abs(std::log(a.dram.bandwidth / b.dram.bandwidth)));
  return std::exp(-std::pow(apart / kLikeReach, double{kLikeSharpness}));
}

}  // namespace tilecast
