#include "cluster/cluster_file.h"

#include "cluster/network_file.h"
#include "gpu/registry.h"
#include "support/json.h"
#include "support/json_fields.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

constexpr const char* kMissing = "see docs/clusters.md, or start from \"like\"";
constexpr double kRoundedPeak = 1.02;  // vendors round; a link a little above the GPU's figure is no contradiction

const JsonObjectFields kFields = {
    {"",
     {"name", "aliases", "gpu", "gpus_per_node", "nodes", "intra", "host_bridge", "inter", "notes", "sources", "like"}},
    {"intra", {"kind", "gb_per_s", "latency_us", "nvls", "peer_access"}},
    {"host_bridge", {"gpus", "gb_per_s"}},
    {"inter", inter_fields()}};

void read_gpus(JsonFields& read, Cluster& cluster) {
  cluster.name = read.text("name");
  cluster.aliases = read.texts("aliases");
  const std::string gpu_name = read.text("gpu");
  if (read.failure()) return;
  auto gpu = load_gpu(gpu_name);
  if (!gpu) return read.fail("gpu", gpu.error().problem, gpu.error().remedy);
  cluster.gpu = *std::move(gpu);
  cluster.gpus_per_node = read.whole("gpus_per_node", 1, 1024);
  cluster.nodes = read.find("nodes") ? read.whole("nodes", 1, 100000) : 1;
}

void read_intra(JsonFields& read, Cluster& cluster) {
  const std::string kind = read.text("intra.kind");
  if (read.failure()) return;
  const auto known = std::find(kLinkKindNames.begin(), kLinkKindNames.end(), kind);
  if (known == kLinkKindNames.end())
    return read.fail("intra.kind", "unknown kind '" + kind + "'", "one of nvlink-switch, nvlink-mesh, pcie");
  auto& intra = cluster.intra;
  intra.kind = static_cast<LinkKind>(known - kLinkKindNames.begin());
  intra.bandwidth = read_rate(read, "intra.gb_per_s");
  intra.latency = read_latency(read, "intra.latency_us");
  intra.nvls = read_flag(read, "intra.nvls", false);
  const bool pcie = intra.kind == LinkKind::pcie;
  const BytesPerSecond peak = pcie ? cluster.gpu.links.pcie : cluster.gpu.links.nvlink;
  if (peak.base() <= 0)
    return read.fail("intra.kind", fmt::format("{} has no {}", cluster.gpu.name, pcie ? "PCIe" : "NVLink"),
                     pcie ? "choose another kind" : "its GPUs reach each other by pcie");
  if (intra.bandwidth > peak * kRoundedPeak)
    return read.fail(
        "intra.gb_per_s",
        fmt::format("is above the {} GB/s that {} has in a direction", in_gigabytes_per_second(peak), cluster.gpu.name),
        "give the rate of one direction");
  intra.peers = read_flag(read, "intra.peer_access", true);
  if (!intra.peers && !pcie)
    return read.fail("intra.peer_access", "GPUs joined by NVLink reach each other", "leave it out");
  if (intra.nvls && intra.kind != LinkKind::nvlink_switch)
    return read.fail("intra.nvls", "needs a switch: intra.kind is " + kind, "set it to false");
}

void read_host_bridge(JsonFields& read, Cluster& cluster) {
  if (!read.find("host_bridge")) return;
  if (cluster.intra.kind != LinkKind::pcie)
    return read.fail("host_bridge", "is for pcie: NVLink does not cross the host", "leave it out");
  Cluster::HostBridge bridge;
  bridge.gpus = read.whole("host_bridge.gpus", 1, 1024);
  bridge.bandwidth = read_rate(read, "host_bridge.gb_per_s");
  cluster.host_bridge = bridge;
}

void read_network(JsonFields& read, Cluster& cluster) {
  if (read.find("inter")) {
    cluster.inter = read_inter(read);
  } else if (cluster.nodes > 1) {
    read.fail("inter", fmt::format("is missing: GPUs of {} nodes cannot reach each other", cluster.nodes),
              "describe the network, or set nodes to 1");
  }
}

Result<Json> lay_over(const Json& own, const std::string& place, const ClusterTextLookup& like) {
  if (!own["like"].is_string())
    return Error{place, "like", "must be the name of a cluster", "for example \"hgx-h100-8\""};
  auto base_text = like(own["like"].get<std::string>());
  if (!base_text) return Error{place, "like", base_text.error().problem, base_text.error().remedy};
  auto base = parse_json_object(*base_text, place, kMissing);
  if (!base) return std::move(base).error();
  for (const char* inherited : {"aliases", "sources", "notes", "name"}) base->erase(inherited);
  if (names_fabric(own)) base->erase("inter");  // a fabric is a whole network
  base->merge_patch(own);
  base->erase("like");
  return *std::move(base);
}

}  // namespace

Result<Cluster> parse_cluster(std::string_view json_text, const std::string& place, const ClusterTextLookup& like) {
  auto parsed = parse_json_object(json_text, place, kMissing);
  if (!parsed) return std::move(parsed).error();
  {
    JsonFields own(*parsed, place, kMissing);
    own.refuse_unknown_fields(kFields);
    if (own.failure()) return *own.failure();
  }
  if (parsed->contains("like")) {
    parsed = lay_over(*parsed, place, like);
    if (!parsed) return std::move(parsed).error();
  }
  if (auto laid = lay_fabric(*parsed, place); !laid) return std::move(laid).error();
  JsonFields read(*parsed, place, kMissing);
  Cluster cluster;
  read_gpus(read, cluster);
  if (!read.failure()) read_intra(read, cluster);
  if (!read.failure()) read_host_bridge(read, cluster);
  if (!read.failure()) read_network(read, cluster);
  cluster.notes = read.texts("notes");
  cluster.sources = read.text_map("sources");
  if (read.failure()) return *read.failure();
  return cluster;
}

std::string cluster_json(const Cluster& cluster) {
  nlohmann::ordered_json out = {{"name", cluster.name}};
  if (!cluster.aliases.empty()) out["aliases"] = cluster.aliases;
  out["gpu"] = cluster.gpu.name;
  out["gpus_per_node"] = cluster.gpus_per_node;
  out["nodes"] = cluster.nodes;
  out["intra"] = {{"kind", name_of(cluster.intra.kind)},
                  {"gb_per_s", written_figure(in_gigabytes_per_second(cluster.intra.bandwidth))},
                  {"latency_us", written_figure(in_microseconds(cluster.intra.latency))},
                  {"nvls", cluster.intra.nvls}};
  if (!cluster.intra.peers) out["intra"]["peer_access"] = false;
  if (cluster.host_bridge)
    out["host_bridge"] = {{"gpus", cluster.host_bridge->gpus},
                          {"gb_per_s", written_figure(in_gigabytes_per_second(cluster.host_bridge->bandwidth))}};
  if (cluster.inter) out["inter"] = inter_json(*cluster.inter);
  if (!cluster.notes.empty()) out["notes"] = cluster.notes;
  if (!cluster.sources.empty()) out["sources"] = cluster.sources;
  return json_text(out);
}

}  // namespace tilecast
