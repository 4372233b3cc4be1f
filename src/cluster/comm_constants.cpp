#include "cluster/comm_constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "constants/cluster.h"
#include "constants/network.h"
#include "gpu/registry.h"

namespace tilecast {

using namespace constants;

namespace {

// Where nothing is known of a scheme: its steps, then its bytes at a share of the peak.
double plain_level(double v) { return std::log2(1 + std::exp2(v) / kPlainShare); }

double at(const Curve& curve, int knot) {
  const auto place = std::clamp(knot - curve.first, 0, static_cast<int>(curve.values.size()) - 1);
  return curve.values[static_cast<std::size_t>(place)];
}

// Curves of one scheme lie together, from this one on.
CurveKey first_of(const CurveKey& key) { return {key.library, key.link, key.op, 0, false}; }
bool same_scheme(const CurveKey& a, const CurveKey& b) {
  return a.library == b.library && a.link == b.link && a.op == b.op;
}

// Curves to try for a scheme nobody measured, nearest first: other formats, other links, schemes that move alike.
std::vector<CurveKey> stand_ins(const CurveKey& key) {
  std::vector<std::pair<std::string, std::string>> schemes = {{key.library, key.op}};
  const bool exchange = key.op.starts_with("dispatch") || key.op.starts_with("combine");
  if (exchange) schemes.emplace_back("deepep-ll", key.op.substr(0, key.op.find('_')));
  schemes.emplace_back("nccl", "all_gather");
  std::vector<CurveKey> list;
  for (const auto& [library, op] : schemes)
    for (const std::string& link : {key.link, std::string("nvlink"), std::string("nvls"), std::string("pcie")})
      for (const bool integers : {key.integers, !key.integers})
        list.push_back({library, link, op, key.ranks, integers});
  return list;
}

}  // namespace

double curve_at(const Curve& curve, const Curve* own, double v) {
  const auto value = [&](int knot) { return at(curve, knot) + (own ? at(*own, knot) : 0); };
  const int below = static_cast<int>(std::floor(std::clamp(v, curve.first - 1.0, curve.last() + 1.0)));
  double low = value(curve.first);
  for (int knot = curve.first + 1; knot <= std::min(below, curve.last()); ++knot) low = std::max(low, value(knot));
  if (v <= curve.first) return low;
  if (v >= curve.last()) return low + (v - curve.last());
  return low + (v - below) * (std::max(low, value(below + 1)) - low);
}

NetworkConstants::NetworkConstants()
    : connection(kConnectionRate), staged_node(kStagedNode), staged_duplex(kStagedDuplex), staged_step(kStagedStep) {}

double NetworkConstants::departure(const Key& key, double bytes) const {
  const auto found = own.find(key);
  if (found == own.end() || found->second.values.empty()) return 0;
  const Curve& curve = found->second;
  const double v = std::clamp<double>(2 * std::log2(std::max(bytes, 1.0)), curve.first, curve.last());
  const int below = std::min(static_cast<int>(std::floor(v)), curve.last());
  return at(curve, below) + (v - below) * (at(curve, below + 1) - at(curve, below));
}

bool NetworkConstants::knows(std::string_view network) const {
  const auto first = own.lower_bound({std::string(network), "", 0, 0});
  return first != own.end() && first->first.network == network;
}

MachineKey CommConstants::machine_of(const std::string& gpu, std::string_view source,
                                     const std::string& library) const {
  const MachineKey wanted{gpu, std::string(source), library};
  if (machines.contains(wanted)) return wanted;
  for (const auto& [key, scale] : machines)
    if (key.gpu == gpu && key.library == library) return key;
  return wanted;
}

MachineScale CommConstants::scale_of(const Gpu& gpu, std::string_view source, const std::string& library,
                                     bool pcie) const {
  if (const auto found = machines.find({gpu.measured().name, std::string(source), library}); found != machines.end())
    return found->second;
  struct Candidate {
    const MachineKey& key;
    const MachineScale& scale;
    bool same_source, same_architecture, same_link;
  };
  std::vector<Candidate> candidates;
  for (const auto& [key, scale] : machines) {
    if (key.library != library) continue;
    const Gpu* other = built_in_gpu(key.gpu);
    candidates.push_back({key, scale, key.source == source, other && other->architecture == gpu.architecture,
                          (scale.link == "pcie") == pcie});
  }
  using Wanted = bool (*)(const Candidate&);
  const auto mean = [&](double MachineScale::*part, std::initializer_list<Wanted> preferences) {
    for (const Wanted wanted : preferences) {
      double sum = 0;
      int count = 0;
      for (const Candidate& c : candidates)
        if (wanted(c)) sum += c.scale.*part, ++count;
      if (count > 0) return sum / count;
    }
    return 0.0;
  };
  // Latency belongs to the way of measuring as much as to the GPU; bandwidth belongs to the links.
  MachineScale scale;
  scale.link = pcie ? "pcie" : "nvlink";
  scale.latency =
      mean(&MachineScale::latency,
           {[](const Candidate& c) { return c.same_source && c.same_architecture && c.same_link; },
            [](const Candidate& c) { return c.same_source && c.same_link; },
            [](const Candidate& c) { return c.same_link; }, [](const Candidate& c) { return c.same_source; }});
  scale.bandwidth = mean(&MachineScale::bandwidth,
                         {[](const Candidate& c) { return c.same_architecture && c.same_link; },
                          [](const Candidate& c) { return c.same_link; }, [](const Candidate&) { return true; }});
  return scale;
}

bool CommConstants::has_seen(const std::string& gpu) const {
  return std::any_of(machines.begin(), machines.end(), [&](const auto& entry) { return entry.first.gpu == gpu; });
}

bool CommConstants::has_run(const std::string& gpu, const CurveKey& curve) const {
  return std::any_of(machines.begin(), machines.end(), [&](const auto& entry) {
    if (entry.first.gpu != gpu || entry.first.library != curve.library) return false;
    const auto first = own.lower_bound({entry.first, first_of(curve)});
    return first != own.end() && first->first.first == entry.first && same_scheme(first->first.second, curve);
  });
}

double CommConstants::host_of(const Gpu& gpu, const std::string& library) const {
  if (const auto found = host_us.find({gpu.measured().name, library}); found != host_us.end()) return found->second;
  // How far another GPU's host is: Grace or not (NVIDIA's superchips have an Arm processor of their own), then
  // architectures in the order of their years.
  const auto distance = [&](const std::string& name) {
    const Gpu* other = built_in_gpu(name);
    const int years = other ? std::abs(static_cast<int>(other->architecture) - static_cast<int>(gpu.architecture)) : 99;
    return std::pair((other && other->grace_host) != gpu.grace_host, years);
  };
  auto nearest = std::pair(true, 100);
  for (const auto& [key, us] : host_us)
    if (key.second == library) nearest = std::min(nearest, distance(key.first));
  double logs = 0;
  int count = 0;
  for (const auto& [key, us] : host_us)
    if (key.second == library && distance(key.first) == nearest) logs += std::log(us), ++count;
  return count > 0 ? std::exp(logs / count) : kPlainHost;
}

CommSpread CommConstants::spread_of(const SpreadKey& key) const {
  const auto found = spreads.find(key);
  return found != spreads.end() ? found->second : CommSpread{-kPlainSpread, kPlainSpread};
}

std::vector<MachineKey> CommConstants::kin_of(const Gpu& gpu, const MachineKey& machine, bool pcie) const {
  if (machines.contains(machine)) return {machine};
  std::vector<MachineKey> alike, measured_alike;
  for (const auto& [key, scale] : machines) {
    const Gpu* other = built_in_gpu(key.gpu);
    if (key.library != machine.library || (scale.link == "pcie") != pcie || !other ||
        other->architecture != gpu.architecture)
      continue;
    alike.push_back(key);
    if (key.source == machine.source) measured_alike.push_back(key);
  }
  return measured_alike.empty() ? alike : measured_alike;
}

int CommConstants::most_ranks(const CurveKey& key) const {
  int most = 0;
  for (auto at = curves.lower_bound(first_of(key)); at != curves.end() && same_scheme(at->first, key); ++at)
    most = std::max(most, at->first.ranks);
  return most;
}

double CommConstants::level(const CurveKey& key, const std::vector<MachineKey>& kin, double v) const {
  for (const CurveKey& candidate : stand_ins(key)) {
    const auto value = [&](const std::pair<const CurveKey, Curve>& entry) {
      double sum = 0;
      int count = 0;
      for (const MachineKey& machine : kin)
        if (const auto departs = own.find({machine, entry.first}); departs != own.end())
          sum += curve_at(entry.second, &departs->second, v), ++count;
      return count > 0 ? sum / count : curve_at(entry.second, nullptr, v);
    };
    const std::pair<const CurveKey, Curve>*fewer = nullptr, *more = nullptr;
    for (auto at = curves.lower_bound(first_of(candidate)); at != curves.end() && same_scheme(at->first, candidate);
         ++at) {
      if (at->first.integers != candidate.integers) continue;
      const int ranks = at->first.ranks;
      if (ranks <= key.ranks && (!fewer || ranks > fewer->first.ranks)) fewer = &*at;
      if (ranks >= key.ranks && (!more || ranks < more->first.ranks)) more = &*at;
    }
    if (!fewer && !more) continue;
    if (!fewer || !more || fewer == more) return value(fewer ? *fewer : *more);
    const double share = std::log2(static_cast<double>(key.ranks) / fewer->first.ranks) /
                         std::log2(static_cast<double>(more->first.ranks) / fewer->first.ranks);
    return (1 - share) * value(*fewer) + share * value(*more);
  }
  return plain_level(v);
}

}  // namespace tilecast
