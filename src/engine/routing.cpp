#include "engine/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "constants/engine.h"
#include "kernel/moe.h"
#include "support/file.h"
#include "support/number.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr const char* kField = "routing";
constexpr std::size_t kMostBytes = 1 << 20;  // of a file of visits
constexpr double kMostVisits = 1e15, kMostAlpha = 10;

Result<std::vector<double>> visits_in(const std::string& path) {
  auto text = read_text_file(path, kMostBytes);
  if (!text) return std::move(text).error();
  std::vector<double> visits;
  std::string_view rest = *text;
  constexpr std::string_view kApart = ", \t\r\n";
  while (true) {
    const std::size_t from = rest.find_first_not_of(kApart);
    if (from == std::string_view::npos) break;
    rest.remove_prefix(from);
    const std::string_view word = rest.substr(0, rest.find_first_of(kApart));
    const auto number = number_between<double>(word, 0, kMostVisits);
    if (!number)
      return Error{path, kField, fmt::format("'{}' is not a number of visits", word.substr(0, 40)),
                   "numbers apart by commas or spaces"};
    visits.push_back(*number);
    rest.remove_prefix(word.size());
  }
  if (std::accumulate(visits.begin(), visits.end(), 0.0) <= 0)
    return Error{path, kField, "holds no visits", "one number for each expert"};
  return visits;
}

// Whole visits in proportion to `share`, none above `most`; what is cut off goes to the others.
std::vector<Count> scaled(const std::vector<double>& share, Count sum, Count most) {
  std::vector<Count> counts(share.size(), 0);
  std::vector<std::size_t> order(share.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return share[a] > share[b]; });
  double left_share = std::accumulate(share.begin(), share.end(), 0.0);
  Count left = sum;
  for (const std::size_t i : order) {
    const double wanted = left_share > 0 ? static_cast<double>(left) * share[i] / left_share : 0;
    counts[i] = std::min({most, left, static_cast<Count>(std::llround(wanted))});
    left -= counts[i], left_share -= share[i];
  }
  // Rounding may leave a few, which go to any expert with room.
  for (const std::size_t i : order) {
    const Count more = std::min(left, most - counts[i]);
    counts[i] += more, left -= more;
  }
  return counts;
}

std::vector<Count> busiest(const std::vector<Count>& all, std::size_t local) {
  std::vector<Count> best;
  Count most = -1;
  for (std::size_t first = 0; first < all.size(); first += local) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<Count> rank(from, from + static_cast<std::ptrdiff_t>(std::min(local, all.size() - first)));
    rank.resize(local, 0);
    const Count sum = std::accumulate(rank.begin(), rank.end(), Count{0});
    if (sum > most) most = sum, best = std::move(rank);
  }
  return best;
}

}  // namespace

Routing usual_routing() { return {ExpertDistribution::power_law, kUsualAlpha, {}}; }

Result<Routing> routing_from(std::string_view text) {
  Routing routing;
  if (text == "uniform" || text == "balanced") return routing;
  if (text == "power" || text.starts_with("power:")) {
    routing.kind = ExpertDistribution::power_law;
    if (text == "power") return routing;
    const auto alpha = number_between<double>(text.substr(6), 0, kMostAlpha);
    if (!alpha) return field_error(kField, "needs an exponent between 0 and 10", "for example power:1.2");
    routing.alpha = *alpha;
    return routing;
  }
  if (!text.starts_with("counts:"))
    return field_error(kField, fmt::format("is unknown: '{}'", text.substr(0, 60)),
                       "uniform, power:1.2 or counts:FILE with the visits of each expert");
  auto visits = visits_in(std::string(text.substr(7)));
  if (!visits) return std::move(visits).error();
  routing.kind = ExpertDistribution::given;
  routing.visits = *std::move(visits);
  return routing;
}

Result<Moe> routed(Moe shape, const Routing& routing) {
  shape.distribution = routing.kind, shape.alpha = routing.alpha;
  if (routing.kind != ExpertDistribution::given) return shape;
  if (static_cast<Count>(routing.visits.size()) != shape.experts)
    return field_error(kField, fmt::format("names {} experts, the model has {}", routing.visits.size(), shape.experts),
                       "one number for each of the model's experts");
  shape.counts = busiest(scaled(routing.visits, shape.tokens * shape.topk, shape.tokens),
                         static_cast<std::size_t>(shape.local_experts()));
  return shape;
}

}  // namespace tilecast
