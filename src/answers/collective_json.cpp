// Collectives and clusters for programs (docs/json.md).
#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json call_json(const CollectiveAnswer& a) {
  if (!a.exchange) return {{"op", a.op}, {"bytes", in_bytes(a.bytes)}, {"ranks", a.ranks}, {"library", a.library}};
  return {{"op", a.op},
          {"tokens", a.exchange->tokens},
          {"hidden", a.exchange->hidden},
          {"topk", a.exchange->topk},
          {"experts", a.exchange->experts},
          {"bytes_per_element", a.exchange->bytes_per_element},
          {"ranks", a.ranks},
          {"library", a.library}};
}

Json object_of(const CollectiveAnswer& a) {
  Json json = {{"cluster", a.cluster}};
  json.update(call_json(a));
  json.update(Json{{"latency_us", in_microseconds(a.latency)},
                   {"interval_us", {in_microseconds(a.interval.low), in_microseconds(a.interval.high)}},
                   {"bound_us", in_microseconds(a.bound)},
                   {"bus_bytes_per_s", a.bus_bandwidth.base()},
                   {"algorithm", a.algorithm},
                   {"seen", a.seen}});
  return json;
}

}  // namespace

std::string collective_json(const std::vector<CollectiveAnswer>& answers) {
  Json list = Json::array();
  for (const CollectiveAnswer& a : answers) list.push_back(object_of(a));
  return json_text(list);
}

std::string clusters_json(const std::vector<ClusterInfo>& clusters) {
  Json list = Json::array();
  for (const ClusterInfo& c : clusters) {
    Json one = {{"name", c.name},   {"gpu", c.gpu},   {"gpus_per_node", c.gpus_per_node},
                {"nodes", c.nodes}, {"link", c.link}, {"link_bytes_per_s", c.link_rate.base()},
                {"nvls", c.nvls}};
    if (c.network) one["network_bytes_per_s"] = c.network->rate.base();
    list.push_back(std::move(one));
  }
  return json_text(list);
}

}  // namespace tilecast
