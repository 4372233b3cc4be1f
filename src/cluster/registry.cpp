#include "cluster/registry.h"

#include <algorithm>
#include <cassert>

#include "cluster/cluster_file.h"
#include "cluster/embedded_clusters.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostFileBytes = 1 << 20;

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

Result<Cluster> find_cluster(std::string_view name) {
  const std::string key = name_key(name);
  std::vector<std::string> names;
  for (const Cluster& cluster : built_in_clusters()) {
    if (name_key(cluster.name) == key) return cluster;
    for (const std::string& alias : cluster.aliases)
      if (name_key(alias) == key) return cluster;
    names.push_back(cluster.name);
  }
  return Error{"", "", "unknown cluster '" + std::string(name) + "'",
               suggestion(name, names, "`tilecast clusters` lists the known ones; a description file works too")};
}

Result<std::string> built_in_cluster_text(std::string_view name) {
  auto cluster = find_cluster(name);
  if (!cluster) return std::move(cluster).error();
  return cluster_json(*cluster);
}

Result<Cluster> load_cluster(const std::string& name_or_path) {
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json");
  if (!is_path) return find_cluster(name_or_path);
  auto text = read_text_file(name_or_path, kMostFileBytes);
  if (!text) return std::move(text).error();
  return parse_cluster(*text, name_or_path, built_in_cluster_text);
}

}  // namespace tilecast
