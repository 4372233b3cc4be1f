#include "cli/views/collective_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal/units_text.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

}  // namespace

std::string collective_table(const std::vector<CollectiveAnswer>& answers) {
  const bool tokens = !answers.empty() && answers.front().exchange;
  Table table({{"cluster", Align::left},
               {tokens ? "tokens" : "bytes"},
               {"ranks"},
               {"forecast"},
               {"80 % interval"},
               {"bound"},
               {"bus bandwidth"},
               {"algorithm", Align::left}});
  for (const CollectiveAnswer& a : answers)
    table.add({a.cluster + (a.seen ? "" : " *"),
               grouped(a.exchange ? a.exchange->tokens : std::llround(in_bytes(a.bytes))),
               grouped(a.ranks), text_of(a.latency),
               text_of_interval(a.interval.low, a.interval.high), text_of(a.bound),
               text_of(a.bus_bandwidth), a.algorithm});
  const bool all_seen = std::all_of(answers.begin(), answers.end(), [](const CollectiveAnswer& a) { return a.seen; });
  if (all_seen) return table.shown();
  return table.shown() + (tokens ? "\n* this exchange was not measured on this GPU; its links speak for it\n"
                                : "\n* no collective of this GPU was measured; its links speak for it\n");
}

std::string clusters_table(const std::vector<ClusterInfo>& clusters, const std::vector<FabricInfo>& fabrics) {
  Table table({{"cluster", Align::left},
               {"GPU", Align::left},
               {"a node"},
               {"links", Align::left},
               {"a GPU"},
               {"NVLS"},
               {"network", Align::left},
               {"a GPU"}});
  for (const ClusterInfo& c : clusters)
    table.add({c.name, c.gpu, std::to_string(c.gpus_per_node), c.link, text_of(c.link_rate), c.nvls ? "yes" : "no",
               c.network ? c.network->kind : "none", c.network ? text_of(c.network->rate) : ""});
  Table networks({{"fabric", Align::left}, {"network", Align::left}, {"a GPU"}, {"also", Align::left}});
  for (const FabricInfo& f : fabrics)
    networks.add({f.name, f.network.kind, text_of(f.network.rate), join(f.aliases, ", ")});
  return table.shown() + "\nBetween nodes, as hgx-h100:4@hdr200:\n\n" + networks.shown() +
         "\nRates are peaks of one direction. --nodes joins several; docs/clusters.md describes files.\n";
}

}  // namespace tilecast
