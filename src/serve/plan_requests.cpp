#include "serve/plan_requests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "constants/serve.h"

namespace tilecast {

using namespace constants;

namespace {

struct Mean {
  double sum = 0, squares = 0;
  Count number = 0;
  void add(Count value) {
    const auto x = static_cast<double>(value);
    sum += x, squares += x * x, ++number;
  }
  double mean() const { return sum / static_cast<double>(std::max<Count>(1, number)); }
  LengthDistribution lengths() const {
    const double variance = std::max(0.0, squares / static_cast<double>(std::max<Count>(1, number)) - mean() * mean());
    const Count whole = std::max<Count>(1, std::llround(mean()));
    if (variance < 0.25) return {LengthDistribution::Kind::fixed, whole, 0};
    return {LengthDistribution::Kind::lognormal, whole, std::sqrt(variance) / mean()};
  }
};

std::vector<std::size_t> first_turns(const std::vector<Request>& requests) {
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (requests[i].after < 0) roots.push_back(i);
  std::stable_sort(roots.begin(), roots.end(),
                   [&](std::size_t a, std::size_t b) { return requests[a].arrival < requests[b].arrival; });
  return roots;
}

double span_of(const std::vector<Request>& requests, const std::vector<std::size_t>& roots) {
  return (requests[roots.back()].arrival - requests[roots.front()].arrival).base();
}

// Tokens of each prompt that some request before it had.
Mean found_again(const std::vector<Request>& requests, const SharedPaths& paths) {
  Mean found;
  std::set<Count> prefixes, segments;
  std::vector<Count> so_far(requests.size());  // what a conversation has come to
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& r = requests[i];
    Count tokens = 0;
    if (r.prefix >= 0 && !prefixes.insert(r.prefix).second) tokens = r.prefix_tokens;
    for (const PathSegment& segment : paths.of(r.path))
      if (!segments.insert(segment.id).second) tokens = std::max(tokens, segment.tokens);
    if (r.history && r.after >= 0) tokens = std::max(tokens, so_far[static_cast<std::size_t>(r.after)]);
    so_far[i] = r.input + r.output;
    found.add(std::min(tokens, r.input - 1));
  }
  return found;
}

// The rate that first turns see, over the mean rate: that of as many neighbours as make chance small.
double busy_share(const PlanRequests& recorded, Statistic statistic) {
  const std::vector<std::size_t> roots = first_turns(recorded.requests);
  const auto neighbours = static_cast<std::size_t>(kPlanBusyNeighbours);
  if (roots.size() < 2 * neighbours) return 1;
  std::vector<double> rates;
  for (std::size_t i = 0; i + neighbours < roots.size(); ++i) {
    const double gap = (recorded.requests[roots[i + neighbours]].arrival - recorded.requests[roots[i]].arrival).base();
    rates.push_back(static_cast<double>(neighbours) / std::max(gap, 1e-9));
  }
  // What chance alone gives Poisson arrivals, which a steady state reckons with.
  constexpr double kNormal[] = {0, 0, 1.2816, 2.3263};
  const double chance = 1 + kNormal[static_cast<std::size_t>(statistic)] / std::sqrt(static_cast<double>(neighbours));
  double seen = 0;
  if (statistic == Statistic::mean) {
    for (const double rate : rates) seen += rate / static_cast<double>(rates.size());
  } else {
    const double share = statistic == Statistic::median ? 0.5 : statistic == Statistic::p90 ? 0.9 : 0.99;
    const auto at = rates.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(rates.size() - 1));
    std::nth_element(rates.begin(), at, rates.end());
    seen = *at;
  }
  return std::max(1.0, seen / recorded.rate / chance);
}

// The requests of these first turns and what follows them, renumbered; arrivals from zero.
std::vector<Request> with_followers(const std::vector<Request>& all, const std::vector<std::size_t>& roots) {
  std::vector<std::int32_t> number(all.size(), -1);
  std::vector<bool> chosen(all.size(), false);
  for (const std::size_t i : roots) chosen[i] = true;
  const Seconds begin = all[roots.front()].arrival;
  std::vector<Request> kept;
  // A request follows one that stands before it (check_turns).
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool follows = all[i].after >= 0 && number[static_cast<std::size_t>(all[i].after)] >= 0;
    if (!chosen[i] && !follows) continue;
    number[i] = static_cast<std::int32_t>(kept.size());
    Request r = all[i];
    r.arrival = std::max(seconds(0), r.arrival - begin);
    if (follows) r.after = number[static_cast<std::size_t>(r.after)];
    kept.push_back(r);
  }
  return kept;
}

SteadyLoad steady_load_of(const PlanRequests& recorded, Statistic statistic) {
  SteadyLoad load;
  Mean input, output;
  std::set<std::int32_t> adapters;
  Count media = 0, guided = 0;
  for (const Request& r : recorded.requests) {
    input.add(r.input), output.add(r.output);
    if (r.adapter >= 0) adapters.insert(r.adapter);
    media += r.fresh_media, guided += r.guided;
  }
  const auto number = static_cast<double>(recorded.requests.size());
  load.input = input.lengths(), load.output = output.lengths();
  load.rate = recorded.each * busy_share(recorded, statistic);
  load.cached =
      std::clamp<Count>(std::llround(found_again(recorded.requests, recorded.paths).mean()), 0, load.input.mean - 1);
  load.adapters = static_cast<Count>(adapters.size());
  load.media = static_cast<double>(media) / number, load.guided = static_cast<double>(guided) / number;
  return load;
}

}  // namespace

Result<PlanRequests> plan_requests(const std::vector<Request>& requests, SharedPaths paths, Count most,
                                   Statistic statistic) {
  PlanRequests recorded;
  const std::vector<std::size_t> roots = first_turns(requests);
  if (roots.empty()) return error("there are no requests to plan for");
  const double each = static_cast<double>(requests.size()) / static_cast<double>(roots.size());
  const auto wanted = static_cast<std::size_t>(std::max(2.0, static_cast<double>(most) / each));
  std::size_t first = 0, number = roots.size();
  if (wanted < number) {
    number = wanted;
    const auto time = [&](std::size_t at) {
      return requests[roots[at + number - 1]].arrival - requests[roots[at]].arrival;
    };
    for (std::size_t at = 1; at + number <= roots.size(); ++at)
      if (time(at) < time(first)) first = at;
  }
  const std::vector<std::size_t> chosen(roots.begin() + static_cast<std::ptrdiff_t>(first),
                                        roots.begin() + static_cast<std::ptrdiff_t>(first + number));
  const double span = span_of(requests, chosen);
  if (!(span > 0))
    return field_error("trace", "its requests come all at once: they have no rate", "arrivals that differ");
  recorded.requests = with_followers(requests, chosen);
  recorded.paths = std::move(paths);
  recorded.rate = static_cast<double>(number - 1) / span;
  recorded.each = static_cast<double>(recorded.requests.size()) / static_cast<double>(number);
  Seconds pauses;
  for (const Request& r : recorded.requests) pauses += r.pause;
  recorded.pauses = pauses / static_cast<double>(number);
  recorded.left_out = static_cast<Count>(requests.size() - recorded.requests.size());
  recorded.at_one = steady_load_of(recorded, statistic);
  return recorded;
}

std::vector<Request> sent_at(const PlanRequests& recorded, double rate) {
  std::vector<Request> requests = recorded.requests;
  const double stretch = recorded.rate / rate;
  for (Request& r : requests) r.arrival = r.arrival * stretch;
  return requests;
}

}  // namespace tilecast
