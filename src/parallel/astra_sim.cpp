// File forms as in astra-sim/astra-sim: examples/network/analytical/HGX-H100-validated.yml (commit 3aaa79b) and
// examples/system/native_collectives/HGX-H100-validated.json (commit cb9c7d3), whose fields and flags these are.
#include "parallel/astra_sim.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/arithmetic.h"

namespace tilecast {
namespace {

// Whether a rank is in two groups that are not everybody.
bool ranks_share_groups(const CommGroups& groups, int ranks) {
  std::map<int, int> memberships;
  for (const auto& group : groups) {
    if (group.size() >= static_cast<std::size_t>(ranks)) continue;
    for (const int rank : group)
      if (++memberships[rank] > 1) return true;
  }
  return false;
}

// ASTRA-sim's switches count the way in and the way out as a hop each, ours the whole way between two GPUs.
constexpr double kSwitchHops = 2;

NetworkDimension within_node(const Cluster& cluster, int npus) {
  const double ns = in_seconds(cluster.intra.latency) / in_seconds(nanoseconds(1));
  if (cluster.intra.kind == LinkKind::nvlink_mesh)
    return {"FullyConnected", npus, in_gigabytes_per_second(cluster.pair_bandwidth()), ns};
  return {"Switch", npus, in_gigabytes_per_second(cluster.intra.bandwidth), ns / kSwitchHops};
}

int smallest_factor(int n) {
  for (int factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0) return factor;
  return n;
}

template <class Text>
std::string listed(const std::vector<NetworkDimension>& dims, Text&& text) {
  std::string all;
  for (const NetworkDimension& d : dims) all += (all.empty() ? "" : ", ") + text(d);
  return all;
}

std::string network_text(const Cluster& cluster, const std::vector<NetworkDimension>& dims) {
  std::string text = fmt::format("# {}, one entry a dimension, the innermost first\n", cluster.name);
  text += fmt::format("topology: [ {} ]\n", listed(dims, [](const auto& d) { return d.topology; }));
  text += fmt::format("npus_count: [ {} ]\n", listed(dims, [](const auto& d) { return std::to_string(d.npus); }));
  text += fmt::format("bandwidth: [ {} ]  # GB/s\n",
                      listed(dims, [](const auto& d) { return fmt::format("{:.3f}", d.gb_per_s); }));
  text += fmt::format("latency: [ {} ]  # ns\n",
                      listed(dims, [](const auto& d) { return fmt::format("{:.2f}", d.latency_ns); }));
  return text;
}

std::string system_text(const Cluster& cluster, std::size_t dims) {
  const auto each = [&](std::string_view algorithm) {
    std::string list;
    for (std::size_t i = 0; i < dims; ++i) list += fmt::format("{}\"{}\"", i ? ", " : "", algorithm);
    return list;
  };
  return fmt::format(
      "{{\n  \"scheduling-policy\": \"LIFO\",\n  \"endpoint-delay\": 10,\n  \"active-chunks-per-dimension\": 1,\n"
      "  \"preferred-dataset-splits\": 1,\n  \"all-reduce-implementation\": [{0}],\n"
      "  \"all-gather-implementation\": [{0}],\n  \"reduce-scatter-implementation\": [{0}],\n"
      "  \"all-to-all-implementation\": [{1}],\n  \"collective-optimization\": \"localBWAware\",\n"
      "  \"local-mem-bw\": {2:.0f},\n  \"boost-mode\": 0\n}}\n",
      each("ring"), each("direct"), in_gigabytes_per_second(cluster.gpu.dram.bandwidth));
}

std::string script_text(const std::string& prefix, std::size_t dims) {
  std::string text =
      "#!/bin/bash\n"
      "# Runs the traces beside this file. ASTRA_SIM: the folder of its programs, build/astra_analytical/build/bin.\n";
  text += dims > 1 ? "# AstraSim_Analytical_Congestion_Aware takes networks of one dimension only.\n"
                   : "# AstraSim_Analytical_Congestion_Aware runs it too: BACKEND=Congestion_Aware bash run.sh\n";
  return text + fmt::format(
                    "set -eu\n"
                    "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
                    "\"${{ASTRA_SIM:?the folder that holds the programs of ASTRA-sim}}/AstraSim_Analytical_"
                    "${{BACKEND:-Congestion_Unaware}}\" \\\n"
                    "  --workload-configuration=\"$here/{0}\" \\\n"
                    "  --comm-group-configuration=\"$here/{0}.json\" \\\n"
                    "  --system-configuration=\"$here/system.json\" \\\n"
                    "  --network-configuration=\"$here/network.yml\" \\\n"
                    "  --remote-memory-configuration=\"$here/memory.json\"\n",
                    prefix);
}

}  // namespace

std::vector<NetworkDimension> network_dimensions(const Cluster& cluster, int ranks, const CommGroups& groups) {
  if (ranks > cluster.gpus_per_node) {
    const int nodes = static_cast<int>(ceil_div(ranks, cluster.gpus_per_node));
    NetworkDimension between{"Switch", nodes, 0, 0};
    if (cluster.inter) {
      between.gb_per_s = in_gigabytes_per_second(cluster.inter->bandwidth);
      between.latency_ns = in_seconds(cluster.inter->latency) / in_seconds(nanoseconds(1)) / kSwitchHops;
    }
    return {within_node(cluster, static_cast<int>(ceil_div(ranks, nodes))), between};
  }
  const NetworkDimension node = within_node(cluster, ranks);
  const int part = smallest_factor(ranks);
  if (part == ranks || !ranks_share_groups(groups, ranks)) return {node};
  NetworkDimension inner = node, outer = node;
  inner.npus = ranks / part, outer.npus = part;
  return {inner, outer};
}

std::vector<NamedText> astra_sim_files(const Cluster& cluster, int ranks, const CommGroups& groups,
                                       const std::string& prefix) {
  const auto dims = network_dimensions(cluster, ranks, groups);
  return {{"network.yml", network_text(cluster, dims)},
          {"system.json", system_text(cluster, dims.size())},
          {"memory.json", "{\n  \"memory-type\": \"NO_MEMORY_EXPANSION\"\n}\n"},
          {"run.sh", script_text(prefix, dims.size())}};
}

}  // namespace tilecast
