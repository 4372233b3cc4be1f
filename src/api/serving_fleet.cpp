#include "api/serving_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/serving_text.h"
#include "cluster/registry.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr const char* kForm = "target=32,min=1,max=8,signal=queue,interval=15s,cooldown=300s,startup=90s";
constexpr double kMostUnits = 4096;

// One "name=value" of an autoscaler; false where it is none.
bool set_part(AutoscaleOptions& o, std::string_view name, const std::string& value) {
  const auto whole = [&](Count& field) {
    const auto n = number_between<Count>(value, 1, static_cast<Count>(kMostUnits));
    if (n) field = *n;
    return n.has_value();
  };
  const auto time = [&](Seconds& field) {
    if (value == "0" || value == "0s") {
      field = seconds(0);
      return true;
    }
    const auto t = duration_from(value);
    if (t) field = *t;
    return t.has_value();
  };
  if (name == "min") return whole(o.least);
  if (name == "max") return whole(o.most);
  if (name == "interval") return time(o.interval);
  if (name == "cooldown") return time(o.cool_down);
  if (name == "startup") return time(o.start_up);
  if (name == "target") {
    const auto n = finite_number(value);
    if (n) o.target = *n;
    return n && *n > 0;
  }
  if (name != "signal") return false;
  for (const AutoscaleSignal signal : {AutoscaleSignal::concurrency, AutoscaleSignal::queue})
    if (value == name_of(signal)) {
      o.signal = signal;
      return true;
    }
  return false;
}

}  // namespace

Result<std::optional<AutoscaleOptions>> autoscale_from(const std::string& text, Count replicas, Seconds start_up) {
  if (text.empty()) return std::optional<AutoscaleOptions>();
  AutoscaleOptions o;
  o.most = std::max<Count>(2, replicas);
  // The HorizontalPodAutoscaler's sync period, stabilization window of scaling down and tolerance.
  o.interval = seconds(15), o.cool_down = seconds(300), o.tolerance = 0.1;
  o.start_up = start_up;
  for (const std::string& part : split(text, ',')) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || !set_part(o, part.substr(0, equals), part.substr(equals + 1)))
      return field_error("autoscale", "'" + part + "' is none of its settings", kForm);
  }
  if (auto fine = check(o); !fine) return fine.error();
  return std::optional(o);
}

OffloadOptions offload_from(const FleetQuery& fleet) {
  OffloadOptions o;
  o.host = gigabytes(fleet.offload_host), o.disk = gigabytes(fleet.offload_disk);
  if (fleet.offload_rate) o.host_rate = gigabytes_per_second(*fleet.offload_rate);
  if (fleet.offload_disk_rate) o.disk_rate = gigabytes_per_second(*fleet.offload_disk_rate);
  // A tier that nothing comes from holds nothing.
  if (fleet.offload_rate == 0.0) o.host = o.disk = bytes(0);
  if (fleet.offload_disk_rate == 0.0) o.disk = bytes(0);
  o.always = fleet.offload_load == OffloadLoad::always;
  return o;
}

bool prefill_differs(const SimulateQuery& q) {
  const FleetQuery& f = q.fleet;
  return (q.prefill_tp && *q.prefill_tp != q.tp) || (f.prefill_pp && *f.prefill_pp != q.pp) ||
         (f.prefill_ep && *f.prefill_ep != q.ep) ||
         (f.prefill_attention_dp && *f.prefill_attention_dp != q.attention_dp) || f.decode_cp > 1;
}

SimulateQuery prefill_query(const SimulateQuery& q) {
  SimulateQuery other = q;
  other.tp = q.prefill_tp.value_or(q.tp);
  other.pp = q.fleet.prefill_pp.value_or(q.pp);
  other.ep = q.fleet.prefill_ep.value_or(q.ep);
  other.attention_dp = q.fleet.prefill_attention_dp.value_or(q.attention_dp);
  other.fleet.decode_cp = 1;
  return other;
}

Status check_fleet(const SimulateQuery& q) {
  const FleetQuery& f = q.fleet;
  const bool apart = q.prefill_replicas > 0;
  if (apart && !f.autoscale.empty()) return field_error("autoscale", "works on one pool alone", "no prefill-replicas");
  if (!f.autoscale.empty() && !q.sweep.empty())
    return field_error("autoscale", "goes with one load, not a sweep", "leave the sweep out");
  if (f.offload_host + f.offload_disk > 0 && q.no_prefix_caching)
    return field_error("no-prefix-caching", "leaves nothing to find again in an offload", "leave one of them out");
  if (f.offload_host + f.offload_disk == 0 && (f.offload_rate || f.offload_load != OffloadLoad::cheaper))
    return field_error(f.offload_rate ? "offload-rate" : "offload-load", "has no effect without an offload",
                       "give offload-host or offload-disk too, or leave it out");
  return Ok{};
}

Result<KvLink> link_from(const SimulateQuery& q, const DeploymentOptions& d) {
  if (q.fleet.link == KvLinkKind::given) return KvLink{gigabytes_per_second(q.link_gb_per_s), microseconds(q.link_us)};
  Cluster cluster = d.spread ? d.spread->cluster : node_of(d.gpu);
  if (!d.spread && !q.cluster.empty()) {
    auto loaded = cluster_of(q.cluster, 1);
    if (!loaded) return std::move(loaded).error();
    cluster = *std::move(loaded);
  }
  if (q.fleet.link == KvLinkKind::nvlink) return KvLink{cluster.pair_bandwidth(), cluster.intra.latency};
  if (!cluster.inter) return field_error("link-over", cluster.name + " has no network", "nvlink, or link with a rate");
  return KvLink{cluster.inter->bandwidth, cluster.inter->latency};
}

namespace {

constexpr double kMostPoolRanks = 1024, kMostGigabytes = 1e6, kMostGigabytesPerSecond = 1e6;

const Scope kByPrefix{"router", {"prefix-aware"}}, kPromptPool{"prefill-replicas"}, kDiskTier{"offload-disk"};

}  // namespace

void declare_offload(Declare& list, FleetQuery& f) {
  list.add(f.offload_host, {.name = "offload-host",
                            .help = "host memory of each GPU for keys and values that its cache gives up",
                            .unit = "GB",
                            .example = "64",
                            .least = 0,
                            .most = kMostGigabytes});
  list.add(f.offload_rate, {.name = "offload-rate",
                            .help = "rate between a GPU and its host's memory (default: of the GPU's link to its host)",
                            .unit = "GB/s",
                            .example = "50",
                            .least = 0,
                            .most = kMostGigabytesPerSecond});
  list.add(f.offload_disk, {.name = "offload-disk",
                            .help = "disk of each GPU for what its host memory gives up",
                            .unit = "GB",
                            .example = "1000",
                            .least = 0,
                            .most = kMostGigabytes});
  list.add(f.offload_disk_rate, {.name = "offload-disk-rate",
                                 .help = "rate at which a GPU's disk is read (default 5)",
                                 .unit = "GB/s",
                                 .example = "7",
                                 .least = 0,
                                 .most = kMostGigabytesPerSecond,
                                 .scopes = {kDiskTier}});
  list.add(f.offload_load,
           {.name = "offload-load",
            .help = "which keys and values are loaded back: those that arrive sooner than they are computed, or all",
            .example = "always"});
}

void declare_prefix_router(Declare& list, FleetQuery& f) {
  list.add(f.cache_threshold, {.name = "cache-threshold",
                               .help = "prefix-aware router: share of a prompt that a replica must know to get it",
                               .example = "0.5",
                               .least = 0,
                               .most = 1,
                               .scopes = {kByPrefix}});
  list.add(f.balance_abs, {.name = "balance-abs-threshold",
                           .help = "prefix-aware router: replicas whose loads differ by more, and by "
                                   "balance-rel-threshold too, are levelled first",
                           .unit = "requests",
                           .example = "32",
                           .least = 0,
                           .most = kMostCount,
                           .scopes = {kByPrefix}});
  list.add(f.balance_rel,
           {.name = "balance-rel-threshold",
            .help = "prefix-aware router: ratio of the largest load to the least from which loads are levelled",
            .example = "1.1",
            .least = 1,
            .most = 1e6,
            .scopes = {kByPrefix}});
}

void declare_autoscale(Declare& list, FleetQuery& f) {
  list.add(f.autoscale, {.name = "autoscale",
                         .help = "start and stop replicas, dp at first: target (requests of one), min, max, signal "
                                 "(concurrency or queue), interval, cooldown, startup",
                         .example = "target=32,min=1,max=8"});
}

void declare_rank_variants(Declare& list, FleetQuery& f) {
  list.add(f.redundant_experts, {.name = "redundant-experts",
                                 .help = "copies of busy experts over the ranks of ep (EPLB)",
                                 .example = "32",
                                 .least = 0,
                                 .most = 65536});
  list.add(f.decode_cp, {.name = "decode-context-parallel-size",
                         .help = "tensor parallel ranks that share a sequence's keys while it decodes",
                         .example = "2",
                         .least = 1,
                         .most = kMostPoolRanks,
                         .aliases = {"dcp-size"}});
}

void declare_pool_layouts(Declare& list, FleetQuery& f) {
  list.add(f.prefill_pp, {.name = "prefill-pp",
                          .help = "with prefill-replicas: pipeline stages of each (default: as pp)",
                          .example = "2",
                          .least = 1,
                          .most = kMostPoolRanks,
                          .scopes = {kPromptPool}});
  list.add(f.prefill_ep, {.name = "prefill-ep",
                          .help = "with prefill-replicas: ranks that share the experts of each (default: as ep)",
                          .example = "8",
                          .least = 1,
                          .most = kMostPoolRanks,
                          .scopes = {kPromptPool}});
  list.add(f.prefill_attention_dp,
           {.name = "prefill-attention-dp",
            .help = "with prefill-replicas: data parallel ranks of each (default: as attention-dp)",
            .example = "4",
            .least = 1,
            .most = kMostPoolRanks,
            .scopes = {kPromptPool}});
  list.add(
      f.link,
      {.name = "link-over",
       .help = "with prefill-replicas: the link to the decoding ones: as given, or the cluster's NVLink or network",
       .example = "network",
       .scopes = {kPromptPool}});
}

}  // namespace tilecast
