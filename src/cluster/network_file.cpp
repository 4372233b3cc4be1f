#include "cluster/network_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/comm_constants.h"
#include "cluster/fabric.h"
#include "constants/network.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

constexpr double kMostOversubscription = 100, kMostCongestion = 100;
constexpr int kMostLeafNodes = 100000;

double number_or(JsonFields& read, const std::string& path, double otherwise, double least, double most) {
  return read.find(path) ? read.number(path, least, most) : otherwise;
}

void read_switches(JsonFields& read, Cluster::Inter& inter) {
  if (read.find("inter.leaf_nodes")) inter.leaf_nodes = read.whole("inter.leaf_nodes", 0, kMostLeafNodes);
  inter.hop = microseconds(number_or(read, "inter.hop_us", 0, 0, 1000));
  inter.oversubscription = number_or(read, "inter.oversubscription", 1, 1, kMostOversubscription);
  if (inter.oversubscription > 1 && inter.leaf_nodes == 0)
    read.fail("inter.oversubscription", "needs switches to leave: inter.leaf_nodes is missing",
              "say how many nodes are below one switch");
  inter.sharp = read_flag(read, "inter.sharp", false);
}

void read_measured(JsonFields& read, Cluster::Inter& inter) {
  if (read.find("inter.pair_gb_per_s")) inter.pair = read_rate(read, "inter.pair_gb_per_s");
  if (read.find("inter.congestion")) inter.congestion = read.number("inter.congestion", 1, kMostCongestion);
  if (!read.find("inter.measured_as")) return;
  inter.measured_as = read.text("inter.measured_as");
  if (!read.failure() && !shipped_comm_constants().network.knows(inter.measured_as))
    read.fail("inter.measured_as", "no network '" + inter.measured_as + "' was measured",
              "leave it out: physics stands for the network");
}

}  // namespace

bool usual_gpudirect(const Cluster::Inter& inter) {
  const bool slow = inter.pair.base() > 0 && inter.pair < gigabytes_per_second(constants::kLeastDirectPair);
  return inter.kind != "ethernet" && !slow;
}

std::vector<std::string> inter_fields() {
  return {"fabric",        "kind",        "gb_per_s",      "latency_us",       "rails",
          "gpus_per_card", "leaf_nodes",  "hop_us",        "oversubscription", "sharp",
          "gpudirect",     "low_latency", "pair_gb_per_s", "congestion",       "measured_as"};
}

BytesPerSecond read_rate(JsonFields& read, const std::string& path) {
  return gigabytes_per_second(read.number(path, 0.01, 1e6));
}
Seconds read_latency(JsonFields& read, const std::string& path) { return microseconds(read.number(path, 0.01, 1000)); }

bool read_flag(JsonFields& read, const std::string& path, bool otherwise) {
  const Json* value = read.find(path);
  if (!value) return otherwise;
  if (!value->is_boolean()) return read.fail(path, "must be true or false"), otherwise;
  return value->get<bool>();
}

double written_figure(double value) { return std::stod(fmt::format("{:.12g}", value)); }

Cluster::Inter read_inter(JsonFields& read) {
  Cluster::Inter inter;
  inter.kind = read.text("inter.kind");
  if (std::find(kNetworkKinds.begin(), kNetworkKinds.end(), inter.kind) == kNetworkKinds.end())
    read.fail("inter.kind", "unknown kind '" + inter.kind + "'",
              "one of " + join({kNetworkKinds.begin(), kNetworkKinds.end()}, ", "));
  inter.bandwidth = read_rate(read, "inter.gb_per_s");
  inter.latency = read_latency(read, "inter.latency_us");
  inter.rails = read.whole("inter.rails", 1, 1024);
  inter.low_latency = read_flag(read, "inter.low_latency", true);
  read_switches(read, inter);
  read_measured(read, inter);
  inter.gpudirect = read_flag(read, "inter.gpudirect", usual_gpudirect(inter));
  return inter;
}

nlohmann::ordered_json inter_json(const Cluster::Inter& inter) {
  const Cluster::Inter plain{};
  nlohmann::ordered_json out = {{"kind", inter.kind},
                                {"gb_per_s", written_figure(in_gigabytes_per_second(inter.bandwidth))},
                                {"latency_us", written_figure(in_microseconds(inter.latency))},
                                {"rails", inter.rails}};
  if (inter.leaf_nodes > 0) out["leaf_nodes"] = inter.leaf_nodes;
  if (inter.hop > plain.hop) out["hop_us"] = written_figure(in_microseconds(inter.hop));
  if (inter.oversubscription > 1) out["oversubscription"] = written_figure(inter.oversubscription);
  if (inter.sharp) out["sharp"] = true;
  if (inter.gpudirect != usual_gpudirect(inter)) out["gpudirect"] = inter.gpudirect;
  if (!inter.low_latency) out["low_latency"] = false;
  if (inter.pair > plain.pair) out["pair_gb_per_s"] = written_figure(in_gigabytes_per_second(inter.pair));
  if (inter.congestion) out["congestion"] = written_figure(*inter.congestion);
  if (!inter.measured_as.empty()) out["measured_as"] = inter.measured_as;
  return out;
}

bool names_fabric(const Json& description) {
  const auto inter = description.find("inter");
  return inter != description.end() && inter->is_object() && inter->contains("fabric");
}

Status lay_fabric(Json& description, const std::string& place) {
  const auto inter = description.find("inter");
  if (inter == description.end() || !inter->is_object()) return Ok{};
  if (names_fabric(description)) {
    if (!(*inter)["fabric"].is_string())
      return Error{place, "inter.fabric", "must be the name of a fabric", "for example \"ndr400\""};
    const auto fabric = find_fabric((*inter)["fabric"].get<std::string>());
    if (!fabric) return Error{place, "inter.fabric", fabric.error().problem, fabric.error().remedy};
    Json whole = Json::parse((*fabric)->inter);
    whole.merge_patch(*inter);
    whole.erase("fabric");
    *inter = std::move(whole);
  }
  const auto per_card = inter->find("gpus_per_card");
  if (per_card == inter->end()) return Ok{};
  if (!per_card->is_number_integer() || per_card->get<std::int64_t>() < 1 || per_card->get<std::int64_t>() > 1024)
    return Error{place, "inter.gpus_per_card", "must be a whole number from 1 to 1024", "1 for a card a GPU"};
  const auto gpus = description.find("gpus_per_node");
  if (!inter->contains("rails") && gpus != description.end() && gpus->is_number_integer())
    (*inter)["rails"] = std::clamp<std::int64_t>(gpus->get<std::int64_t>() / per_card->get<std::int64_t>(), 1, 1024);
  inter->erase("gpus_per_card");
  return Ok{};
}

}  // namespace tilecast
