#include "serve/backlog_chain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilecast {
namespace {

// How likely it is that so many prompts come: `shares` of `least`, least + 1 ...; others hardly ever do.
struct Arrivals {
  std::size_t least = 0;
  std::vector<double> shares;
};

// Prompts that come to one of `replicas` in turn while `mean` come to each: K is Poisson over all of them, and a
// replica gets K / replicas, rounded down or up by whose turn it is.
Arrivals arrivals(double mean, Count replicas) {
  const auto r = static_cast<double>(replicas);
  const double all = mean * r;
  const auto far = 7 * std::sqrt(all) + 8;
  const auto most = static_cast<Count>(all + far), least = static_cast<Count>(std::max(0.0, all - far));
  std::vector<double> shares(static_cast<std::size_t>(most / replicas) + 2, 0.0);
  // From the likeliest number on to either side, each from its neighbour: no exponential of each, and none is too
  // small.
  const auto mode = std::clamp(static_cast<Count>(all), least, most);
  std::vector<double> poisson(static_cast<std::size_t>(most - least) + 1);
  const auto p = [&](Count k) -> double& { return poisson[static_cast<std::size_t>(k - least)]; };
  p(mode) = 1;
  for (Count k = mode; k < most; ++k) p(k + 1) = p(k) * all / static_cast<double>(k + 1);
  for (Count k = mode; k > least; --k) p(k - 1) = p(k) * static_cast<double>(k) / all;
  const double sum = std::accumulate(poisson.begin(), poisson.end(), 0.0);
  for (Count k = least; k <= most; ++k) {
    const double share = p(k) / sum, up = static_cast<double>(k % replicas) / r;
    shares[static_cast<std::size_t>(k / replicas)] += share * (1 - up);
    shares[static_cast<std::size_t>(k / replicas) + 1] += share * up;
  }
  constexpr double kHardlyEver = 1e-9;
  while (shares.size() > 1 && shares.back() < kHardlyEver) shares.pop_back();
  const auto likely = std::find_if(shares.begin(), shares.end() - 1, [](double p) { return p >= kHardlyEver; });
  return {static_cast<std::size_t>(likely - shares.begin()), {likely, shares.end()}};
}

// Times of steps by pieces computed: asked at few, straight between them.
std::vector<double> step_times(const BacklogChain& chain) {
  std::vector<double> times(static_cast<std::size_t>(chain.served) + 1);
  times[0] = chain.time(0);
  for (Count low = 0; low < chain.served;) {
    const Count high = std::min(chain.served, low < 2 ? low + 1 : 2 * low);
    times[static_cast<std::size_t>(high)] = chain.time(high);
    for (Count i = low + 1; i < high; ++i) {
      const double share = static_cast<double>(i - low) / static_cast<double>(high - low);
      times[static_cast<std::size_t>(i)] =
          times[static_cast<std::size_t>(low)] * (1 - share) + times[static_cast<std::size_t>(high)] * share;
    }
    low = high;
  }
  return times;
}

// Where a step leads from a backlog of b, `of` being the arrivals by pieces computed.
template <class F>
void each_successor(std::size_t b, std::size_t most, std::size_t each, const std::vector<Arrivals>& of, F f) {
  const std::size_t computed = std::min(b, of.size() - 1);
  std::size_t to = b - computed + each * of[computed].least;
  for (const double share : of[computed].shares) f(std::min(to, most), share), to += each;
}

// Adds `weight` of each_successor()'s shares to where they lead.
void add_successors(std::size_t b, double weight, std::size_t each, const std::vector<Arrivals>& of,
                    std::vector<double>& next) {
  const std::size_t most = next.size() - 1, computed = std::min(b, of.size() - 1);
  const std::vector<double>& shares = of[computed].shares;
  const std::size_t from = b - computed + each * of[computed].least;
  const std::size_t inside = from > most ? 0 : std::min(shares.size(), (most - from) / each + 1);
  const double* share = shares.data();
  double* to = next.data() + from;
  if (each == 1) {
    // One prompt a piece, the common case, leads to one state after the other: two at a time.
    std::size_t i = 0;
    for (; i + 1 < inside; i += 2) {
      const double first = to[i] + weight * share[i], second = to[i + 1] + weight * share[i + 1];
      to[i] = first, to[i + 1] = second;
    }
    if (i < inside) to[i] += weight * share[i];
  } else {
    for (std::size_t i = 0; i < inside; ++i) to[i * each] += weight * share[i];
  }
  for (std::size_t i = inside; i < shares.size(); ++i) next[most] += weight * share[i];
}

// E[(T_0 - mean)(T_k - mean)] for k = 0, 1, ... while it matters: the expected time k steps on from every state.
std::vector<double> covariances(const std::vector<double>& shares, const std::vector<double>& times, double mean,
                                std::size_t each, const std::vector<Arrivals>& of, Count steps) {
  std::vector<double> result, ahead(shares.size()), next(shares.size());
  const auto time = [&](std::size_t b) { return times[std::min(b, times.size() - 1)] - mean; };
  for (std::size_t b = 0; b < shares.size(); ++b) ahead[b] = time(b);
  for (Count k = 0; k < steps; ++k) {
    double sum = 0;
    for (std::size_t b = 0; b < shares.size(); ++b) sum += shares[b] * time(b) * ahead[b];
    result.push_back(sum);
    if (sum < 0.02 * result.front()) break;
    for (std::size_t b = 0; b < shares.size(); ++b) {
      next[b] = 0;
      each_successor(b, shares.size() - 1, each, of,
                     [&](std::size_t to, double share) { next[b] += share * ahead[to]; });
    }
    std::swap(ahead, next);
  }
  return result;
}

}  // namespace

ChainResult solve(const BacklogChain& chain, Count steps) {
  ChainResult result;
  const std::vector<double> times = step_times(chain);
  const auto each = static_cast<double>(chain.each);
  const double coming = chain.rate * times.back() * each;
  if (!(coming < static_cast<double>(chain.served))) return result;
  result.stable = true;
  const Count most = std::clamp<Count>(3 * chain.served + static_cast<Count>(8 * (coming + each)), 32, 400);
  const auto states = static_cast<std::size_t>(most) + 1;
  std::vector<Arrivals> of(times.size());
  for (std::size_t b = 0; b < times.size(); ++b) of[b] = arrivals(chain.rate * times[b], chain.replicas);
  if (chain.idles) of[0] = {1, {1}};  // the step after an idle time has the prompt that ended it
  std::vector<double> now(states, 0.0), next(states);
  if (chain.near.size() == states) now = chain.near;
  else now[0] = 1;
  for (int round = 0; round < 300; ++round) {
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t b = 0; b < states; ++b) {
      if (now[b] < 1e-12) continue;
      add_successors(b, now[b], static_cast<std::size_t>(chain.each), of, next);
    }
    double change = 0;
    for (std::size_t b = 0; b < states; ++b) {
      change += std::abs(next[b] - now[b]);
      // A chain that alternates settles on the mean.
      now[b] = (now[b] + next[b]) / 2;
    }
    if (change < 1e-5) break;
  }
  double time = 0, prompts = 0, ahead = 0;
  for (std::size_t b = 0; b < states; ++b) {
    const std::size_t computed = std::min(b, times.size() - 1);
    const bool idle = chain.idles && b == 0;
    const double t = idle ? 1 / chain.rate : times[computed];
    time += now[b] * t;
    if (!idle) result.step += now[b] * t;
    // Those of the backlog for the whole step, those that come in it for half of it.
    if (!idle) prompts += now[b] * t * (static_cast<double>(b) / each + chain.rate * t / 2);
    if (!idle) ahead += now[b] * t * t / 2;
  }
  if (chain.idles) result.step /= std::max(1e-12, 1 - now[0]);
  result.without = now[0];
  result.delay = prompts / time / chain.rate;
  const auto keep = [&] { result.backlog = std::move(now); };
  if (chain.idles) return keep(), result;
  // Prompts that come in turns keep their distance: they seldom meet a step that computes the one before.
  const double apart = (1 - 1 / static_cast<double>(chain.replicas)) * std::max(0.0, 1 - chain.rate * result.step);
  result.delay += (times[0] / 2 - ahead / time) * apart;
  result.between = result.step + (times[0] - result.step) * apart;
  if (steps > 0)
    result.covariance = covariances(now, times, result.step, static_cast<std::size_t>(chain.each), of, steps);
  return keep(), result;
}

}  // namespace tilecast
