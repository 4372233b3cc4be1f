#include "cluster/fabric.h"

#include <algorithm>
#include <cassert>

#include "cluster/embedded_clusters.h"
#include "cluster/network_file.h"
#include "support/json.h"

namespace tilecast {
namespace {

constexpr const char* kFabricMissing = "see docs/clusters.md";

Result<Fabric> parse_fabric(std::string_view text, const std::string& place) {
  auto parsed = parse_json_object(text, place, kFabricMissing);
  if (!parsed) return std::move(parsed).error();
  JsonFields read(*parsed, place, kFabricMissing);
  read.refuse_unknown_fields({{"", {"name", "aliases", "inter", "notes", "sources"}}, {"inter", inter_fields()}});
  Fabric fabric;
  fabric.name = read.text("name"), fabric.aliases = read.texts("aliases");
  fabric.notes = read.texts("notes"), fabric.sources = read.text_map("sources");
  const auto* inter = read.find("inter");
  if (!inter) read.fail("inter", "is missing");
  if (read.failure()) return *read.failure();
  fabric.inter = inter->dump();
  return fabric;
}

}  // namespace

const std::vector<Fabric>& built_in_fabrics() {
  static const std::vector<Fabric> fabrics = [] {
    std::vector<Fabric> all;
    for (const EmbeddedFile& file : embedded_fabric_files()) {
      auto fabric = parse_fabric(file.text, "data/fabrics/" + std::string(file.name));
      assert(fabric.ok() && "a built-in fabric is broken; fabric_test names it");
      if (fabric) all.push_back(*std::move(fabric));
    }
    std::sort(all.begin(), all.end(), [](const Fabric& a, const Fabric& b) { return a.name < b.name; });
    return all;
  }();
  return fabrics;
}

Result<const Fabric*> find_fabric(std::string_view name) {
  const std::string key = name_key(name);
  std::vector<std::string> names;
  for (const Fabric& fabric : built_in_fabrics()) {
    if (name_key(fabric.name) == key) return &fabric;
    for (const std::string& alias : fabric.aliases)
      if (name_key(alias) == key) return &fabric;
    names.push_back(fabric.name);
  }
  return error("unknown fabric '" + std::string(name) + "'", suggestion(name, names, "one of " + join(names, ", ")));
}

Result<Cluster> with_fabric(Cluster cluster, std::string_view name) {
  const auto fabric = find_fabric(name);
  if (!fabric) return fabric.error();
  nlohmann::json description = {{"gpus_per_node", cluster.gpus_per_node}, {"inter", {{"fabric", (*fabric)->name}}}};
  if (auto laid = lay_fabric(description, (*fabric)->name); !laid) return std::move(laid).error();
  JsonFields read(description, (*fabric)->name, kFabricMissing);
  cluster.inter = read_inter(read);
  if (read.failure()) return *read.failure();
  return cluster;
}

Cluster with_pair(Cluster cluster, BytesPerSecond pair) {
  if (!cluster.inter) return cluster;
  cluster.inter->pair = pair;
  cluster.inter->gpudirect = usual_gpudirect(*cluster.inter);
  return cluster;
}

}  // namespace tilecast
