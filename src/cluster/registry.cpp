#include "cluster/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "cluster/cluster_file.h"
#include "cluster/embedded_clusters.h"
#include "cluster/fabric.h"
#include "constants/cluster.h"
#include "gpu/registry.h"
#include "support/file.h"
#include "support/json.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {

using namespace constants;

namespace {

Result<std::string> no_like(std::string_view) { return error("built-in descriptions must be complete"); }

std::vector<Cluster> parse_built_in() {
  std::vector<Cluster> clusters;
  for (const EmbeddedFile& file : embedded_cluster_files()) {
    auto cluster = parse_cluster(file.text, "data/clusters/" + std::string(file.name), no_like);
    assert(cluster.ok() && "a built-in cluster is broken; cluster_file_test names it");
    if (cluster) clusters.push_back(*std::move(cluster));
  }
  std::sort(clusters.begin(), clusters.end(), [](const Cluster& a, const Cluster& b) { return a.name < b.name; });
  return clusters;
}

constexpr int kMostNodes = 1 << 20;

bool is_path(const std::string& text) {
  return text == "-" || text.find('/') != std::string::npos || text.ends_with(".json");
}

std::optional<int> count_of(std::string_view digits) { return number_between(digits, 1, kMostNodes); }

Result<Cluster> with_nodes(Cluster cluster, int nodes) {
  if (nodes > kMostNodes) return error("more than " + std::to_string(kMostNodes) + " nodes", "ask for fewer GPUs");
  if (nodes > 1 && !cluster.inter)
    return error("the nodes of " + cluster.name + " cannot reach each other", "its file needs \"inter\"");
  cluster.nodes = nodes;
  return cluster;
}

// "64xH100" cut in two; nothing where the text is no such.
std::optional<std::pair<int, std::string>> counted_gpu(const std::string& text) {
  const auto after = text.find_first_not_of("0123456789");
  if (after == 0 || after == std::string::npos) return {};
  for (const std::string_view times : {"x", "X", "*", "\u00d7"})
    if (text.compare(after, times.size(), times) == 0)
      if (const auto count = count_of(std::string_view(text).substr(0, after)))
        return std::pair{*count, text.substr(after + times.size())};
  return {};
}

// A card made from another's description stands where that one does, with links of its own where it has any; a
// calibrated one stays calibrated.
Cluster with_gpu(Cluster cluster, const Gpu& gpu) {
  const auto& [nvlink, pcie] = cluster.gpu.links;
  const bool by_pcie = cluster.intra.kind == LinkKind::pcie;
  const BytesPerSecond theirs = by_pcie ? pcie : nvlink, own = by_pcie ? gpu.links.pcie : gpu.links.nvlink;
  if (theirs.base() > 0) cluster.intra.bandwidth = cluster.intra.bandwidth * (own / theirs);
  if (gpu.name != cluster.gpu.name) cluster.name = gpu.name + " in " + cluster.name;
  cluster.gpu = gpu;
  return cluster;
}

bool named(const Gpu& gpu, std::string_view word) { return gpu.measured().name.find(word) != std::string::npos; }

// Cards with a bridge to one other have the links of modules and no board; beside a Grace there is one module.
bool on_a_board(const Gpu& gpu) {
  return gpu.links.nvlink.base() > 0 && !gpu.grace_host && !named(gpu, "PCIe") && !named(gpu, "NVL");
}

// A module of another's architecture and links stands where that one does: A100 of 40 GB on the board of 80 GB.
std::optional<Cluster> on_siblings_board(const Gpu& gpu) {
  std::optional<Cluster> best;
  if (!on_a_board(gpu)) return best;
  for (const Cluster& cluster : built_in_clusters()) {
    const Gpu& other = cluster.gpu;
    const bool alike = other.architecture == gpu.architecture && other.links.nvlink == gpu.links.nvlink &&
                       other.links.pcie == gpu.links.pcie && cluster.intra.kind != LinkKind::pcie;
    if (alike && (!best || cluster.gpus_per_node > best->gpus_per_node)) best = cluster;
  }
  if (best) best->gpu = gpu;
  return best;
}

constexpr std::string_view kPlainName = "-plain-8";

// As the servers of L40S and L20 in data/clusters. Modules without a switch share their links out among the others of
// their board (V100, P100).
Cluster plain_node(const Gpu& gpu) {
  Cluster node;
  node.name = gpu.name + std::string(kPlainName);
  node.gpu = gpu;
  node.gpus_per_node = kPlainNode;
  node.intra.latency = microseconds(kPlainNodeHop);
  node.intra.kind = LinkKind::pcie;
  node.intra.bandwidth = gpu.links.pcie.base() > 0 ? gpu.links.pcie : gigabytes_per_second(kPlainNodePcie);
  if (named(gpu, "SXM") && gpu.links.nvlink.base() > 0) {
    node.intra.kind = LinkKind::nvlink_mesh, node.intra.bandwidth = gpu.links.nvlink;
  } else {
    node.host_bridge = Cluster::HostBridge{kPlainNode / 2, node.intra.bandwidth};
  }
  Cluster::Inter inter;
  inter.kind = "roce", inter.rails = 2;
  inter.bandwidth = gigabytes_per_second(kPlainNodeNetwork), inter.latency = microseconds(kPlainNodeNetworkHop);
  node.inter = std::move(inter);
  return node;
}

Result<Cluster> cluster_of_gpus(int count, const std::string& name) {
  auto gpu = load_gpu(name);
  if (!gpu) return std::move(gpu).error();
  const Cluster largest = node_of(*gpu);
  const int node = largest.gpus_per_node;
  if (count % node == 0) return with_nodes(largest, count / node);
  if (count > node)
    return error(std::to_string(count) + " " + gpu->name + " do not fill nodes of " + std::to_string(node),
                 std::to_string(count / node * node) + " or " + std::to_string((count / node + 1) * node) + " do");
  for (const Cluster& cluster : built_in_clusters())
    if (cluster.gpu.name == gpu->measured().name && cluster.gpus_per_node == count) return with_gpu(cluster, *gpu);
  Cluster part = largest;
  part.gpus_per_node = count;
  return part;
}

}  // namespace

const std::vector<Cluster>& built_in_clusters() {
  static const std::vector<Cluster> clusters = parse_built_in();
  return clusters;
}

const Cluster* built_in_cluster_of(std::string_view gpu) {
  const Cluster* best = nullptr;
  for (const Cluster& cluster : built_in_clusters())
    if (cluster.gpu.name == gpu && (!best || cluster.gpus_per_node > best->gpus_per_node)) best = &cluster;
  return best;
}

Cluster node_of(const Gpu& gpu) {
  if (const Cluster* own = built_in_cluster_of(gpu.measured().name)) return with_gpu(*own, gpu);
  if (auto board = on_siblings_board(gpu)) return *std::move(board);
  return plain_node(gpu);
}

std::string plain_node_note(const Cluster& node) {
  if (!node.name.ends_with(kPlainName)) return {};
  const bool mesh = node.intra.kind == LinkKind::nvlink_mesh;
  return fmt::format(
      "no node of {} is described: taken as {} of them {} {:g} GB/s each way (cluster takes a description, "
      "docs/clusters.md)",
      node.gpu.name, kPlainNode.value, mesh ? "that share out links of" : "over PCIe at",
      in_gigabytes_per_second(node.intra.bandwidth));
}

Result<Cluster> find_cluster(std::string_view name) {
  const std::string key = name_key(name);
  std::vector<std::string> names;
  for (const Cluster& cluster : built_in_clusters()) {
    if (name_key(cluster.name) == key) return cluster;
    for (const std::string& alias : cluster.aliases)
      if (name_key(alias) == key) return cluster;
    names.push_back(cluster.name);
  }
  if (const auto digits = name.find_first_not_of("0123456789");
      digits != 0 && digits != std::string_view::npos && find_gpu(name.substr(digits + 1)))
    return error("'" + std::string(name) + "' asks for " + std::string(name.substr(0, digits)) + " GPUs",
                 fmt::format("a number from 1 to {}: 8x{}", kMostNodes, name.substr(digits + 1)));
  if (const auto gpu = find_gpu(name); gpu || count_of(name))
    return Error{"", "", "'" + std::string(name) + "' is " + (gpu ? "a GPU" : "a number") + ", not a cluster",
                 gpu ? "say how many: 8x" + std::string(name) : "say of which GPU: " + std::string(name) + "xH100"};
  return Error{"", "", "unknown cluster '" + std::string(name) + "'",
               suggestion(name, names, "`tilecast clusters` lists the known ones; a description file works too")};
}

Result<std::string> built_in_cluster_text(std::string_view name) {
  auto cluster = find_cluster(name);
  if (!cluster) return std::move(cluster).error();
  return cluster_json(*cluster);
}

Result<Cluster> load_cluster(const std::string& name_or_path) {
  if (is_object_text(name_or_path)) return parse_cluster(name_or_path, "cluster description", built_in_cluster_text);
  if (!is_path(name_or_path)) return find_cluster(name_or_path);
  auto text = read_text_file(name_or_path, kMostClusterFile);
  if (!text) return std::move(text).error();
  return parse_cluster(*text, name_or_path, built_in_cluster_text);
}

namespace {

// "hgx-h100:4@hdr200" cut in two: the cluster, and the fabric between its nodes; a path may hold an @ of its own.
std::pair<std::string, std::string> apart_from_fabric(const std::string& text) {
  const auto at = text.rfind('@');
  if (at == std::string::npos || at == 0 || is_object_text(text)) return {text, ""};
  const std::string fabric = text.substr(at + 1);
  if (fabric.empty() || is_path(fabric)) return {text, ""};
  return {text.substr(0, at), fabric};
}

Result<Cluster> cluster_without_fabric(const std::string& text, int gpus_needed) {
  const auto counted = counted_gpu(text);
  const auto colon = text.rfind(':');
  const auto nodes =
      counted || colon == std::string::npos ? std::nullopt : count_of(std::string_view(text).substr(colon + 1));
  const std::string name = nodes ? text.substr(0, colon) : text;
  if (!nodes && !counted && colon != std::string::npos && !is_object_text(text) && find_cluster(text.substr(0, colon)))
    return error("'" + text.substr(colon + 1) + "' is not a number of nodes",
                 fmt::format("{}:2, at most {}", text.substr(0, colon), kMostNodes));
  auto cluster = counted ? cluster_of_gpus(counted->first, counted->second) : load_cluster(name);
  if (cluster && nodes) cluster = with_nodes(*std::move(cluster), *nodes);
  if (!cluster || gpus_needed <= cluster->gpus()) return cluster;
  const int needed = static_cast<int>(ceil_div(gpus_needed, cluster->gpus_per_node));
  if (!counted && !nodes && !is_path(name) && !is_object_text(name)) return with_nodes(*std::move(cluster), needed);
  return error(
      std::to_string(gpus_needed) + " GPUs are needed and " + text + " has " + std::to_string(cluster->gpus()),
      "say " + (counted ? std::to_string(gpus_needed) + "x" + counted->second : name + ":" + std::to_string(needed)));
}

}  // namespace

Result<Cluster> cluster_of(const std::string& text, int gpus_needed) {
  if (text.ends_with('@'))
    return error("'" + text + "' names no fabric behind its @", "hgx-h100:4@hdr200: `tilecast clusters` lists them");
  const auto [name, fabric] = apart_from_fabric(text);
  if (fabric.empty()) return cluster_without_fabric(name, gpus_needed);
  auto cluster = cluster_without_fabric(name, gpus_needed);
  if (!cluster) return cluster;
  auto joined = with_fabric(*std::move(cluster), fabric);
  if (joined) joined->name += "@" + (*find_fabric(fabric))->name;
  return joined;
}

}  // namespace tilecast
