#include "tilecast/retime.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "api/chosen_method.h"
#include "api/common_arguments.h"
#include "api/declare.h"
#include "cluster/registry.h"
#include "diagnose/retime.h"
#include "gpu/registry.h"
#include "support/file.h"
#include "support/output_file.h"

namespace tilecast {
namespace {

// Shares of the whole time after which a long trace is read, and its work forecast; the rest is writing.
constexpr double kRead = 0.5, kForecast = 0.6;

struct Places {
  Gpu from, to;
  std::optional<Cluster> from_cluster, to_cluster;
};

Result<Gpu> recorded_card(const RetimeQuery& query, const Recording& recording) {
  if (!query.from.empty()) {
    auto given = load_gpu(query.from);
    if (!given) return in_field(std::move(given).error(), "from");
    return given;
  }
  if (!query.from_cluster.empty()) {
    auto cluster = cluster_of(query.from_cluster);
    if (!cluster) return in_field(std::move(cluster).error(), "from-cluster");
    return std::move(cluster->gpu);
  }
  if (recording.gpu.empty())
    return field_error("from", "is missing, and " + query.trace + " does not name the card", "for example H200-SXM");
  auto found = find_gpu(recording.gpu);
  if (!found)
    return field_error("from", "is missing, and the file's card '" + recording.gpu + "' is not known by that name",
                       found.error().remedy);
  return found;
}

Result<Gpu> other_card(const RetimeQuery& query) {
  if (query.gpu.empty() && query.cluster.empty())
    return field_error("gpu", "is missing", "the card to re-time for, for example B200, or a cluster");
  if (query.gpu.empty()) {
    auto cluster = cluster_of(query.cluster);
    if (!cluster) return in_field(std::move(cluster).error(), "cluster");
    return std::move(cluster->gpu);
  }
  auto given = load_gpu(query.gpu);
  if (!given) return in_field(std::move(given).error(), "gpu");
  return given;
}

// A cluster of this card with as many GPUs as the ranks need; nothing where none is known by itself.
Result<std::optional<Cluster>> cluster_for_ranks(const std::string& given, const Gpu& gpu, int gpus,
                                                 std::string_view field) {
  if (given.empty()) {
    const Cluster* known = gpus > 0 ? built_in_cluster_of(gpu.name) : nullptr;
    if (!known) return std::optional<Cluster>();
    auto grown = cluster_of(known->name, gpus);
    if (!grown || grown->gpus() < gpus) return std::optional<Cluster>();
    return std::optional<Cluster>(*std::move(grown));
  }
  auto cluster = cluster_of(given, gpus);
  if (!cluster) return in_field(std::move(cluster).error(), std::string(field));
  if (cluster->gpu.name != gpu.name)
    return field_error(std::string(field), "joins " + cluster->gpu.name + ", not " + gpu.name,
                       "leave the card or the cluster out");
  if (cluster->gpus() < gpus)
    return field_error(
        std::string(field),
        "has " + std::to_string(cluster->gpus()) + " GPUs, and the trace's ranks need " + std::to_string(gpus),
        "name a larger one, for example " + std::to_string(gpus) + "x" + gpu.name);
  return std::optional<Cluster>(*std::move(cluster));
}

Result<Places> places_of(const RetimeQuery& query, const Recording& recording, int gpus) {
  auto from = recorded_card(query, recording);
  if (!from) return std::move(from).error();
  auto to = other_card(query);
  if (!to) return std::move(to).error();
  auto from_cluster = cluster_for_ranks(query.from_cluster, *from, gpus, "from-cluster");
  if (!from_cluster) return std::move(from_cluster).error();
  auto to_cluster = cluster_for_ranks(query.cluster, *to, gpus, "cluster");
  if (!to_cluster) return std::move(to_cluster).error();
  return Places{*std::move(from), *std::move(to), *std::move(from_cluster), *std::move(to_cluster)};
}

RetimedWork work_of(ReadGroup&& read, RetimedGroup&& new_time) {
  WorkGroup& g = read.group;
  RetimedWork work;
  work.name = std::move(g.name), work.full_name = std::move(g.full_name), work.op = std::move(g.op);
  work.family = name_of(g.family), work.library = g.library;
  work.calls = g.calls, work.launches = g.launches;
  if (read.shape) {
    const Kernel& kernel = read.shape->kernel;
    work.shape_family = family_of(kernel.shape), work.dtype = kernel.format.name, work.dims = dims_of(kernel.shape);
  }
  work.recorded = g.total, work.retimed = g.total * new_time.ratio;
  work.interval = {g.total * new_time.low, g.total * new_time.high};
  work.basis = new_time.from;
  work.kept_because = std::move(new_time.why);
  work.limited_by = new_time.limit, work.seen = new_time.seen;
  return work;
}

RetimedDevice::Times times_of(const DeviceTimeline& line) {
  return {line.window, line.busy, line.idle, line.idle_host_late, line.exposed_collectives};
}

void add_sums(RetimeReport& report) {
  std::map<std::string, Seconds> limits;
  for (const RetimedWork& work : report.work) {
    report.recorded += work.recorded, report.retimed += work.retimed;
    report.interval.low += work.interval.low, report.interval.high += work.interval.high;
    report.by_basis[static_cast<std::size_t>(work.basis)] += work.recorded;
    if (work.family == name_of(WorkFamily::unknown)) report.not_recognised += work.recorded;
    limits[work.limited_by ? std::string(name_of(*work.limited_by)) : std::string(name_of(work.basis))] += work.retimed;
  }
  for (const auto& [limit, time] : limits) report.limits.push_back({limit, time});
  std::stable_sort(report.limits.begin(), report.limits.end(),
                   [](const LimitShare& a, const LimitShare& b) { return a.time > b.time; });
}

void add_work(RetimeReport& report, GroupedWork&& work, std::vector<RetimedGroup>&& groups) {
  report.work.reserve(work.groups.size());
  for (std::size_t i = 0; i < work.groups.size(); ++i)
    report.work.push_back(work_of(std::move(work.groups[i]), std::move(groups[i])));
  std::stable_sort(report.work.begin(), report.work.end(),
                   [](const RetimedWork& a, const RetimedWork& b) { return a.recorded > b.recorded; });
  add_sums(report);
}

RetimeReport named_report(const RetimeQuery& query, const Recording& recording, const Places& places) {
  RetimeReport report;
  report.trace = query.trace, report.format = recording.format, report.recorded_on = recording.gpu;
  report.from = places.from.name, report.gpu = places.to.name;
  if (places.from_cluster && places.to_cluster)
    report.from_cluster = places.from_cluster->name, report.cluster = places.to_cluster->name;
  report.notes = recording.notes;
  return report;
}

void add_notes(RetimeReport& report, const RetimeQuery& query, const Recording& recording, const Places& places,
               int gpus) {
  if (gpus > 0 && (!places.from_cluster || !places.to_cluster))
    report.notes.push_back("no cluster of " + (places.from_cluster ? places.to.name : places.from.name) +
                           " is known: collectives stay as recorded; name one");
  if (gpus > 0 && places.from_cluster && query.from_cluster.empty())
    report.notes.push_back("collectives were taken to have run over " + places.from_cluster->name);
  if (gpus == 0 && !query.cluster.empty() && !query.gpu.empty())
    report.notes.emplace_back("the trace holds no collective whose size is recorded: the cluster changes nothing");
  if (recording.events.empty()) report.notes.emplace_back("the file holds no times of day: only sums are re-timed");
  if (!recording.gpu.empty() && !query.from.empty())
    if (const auto named = find_gpu(recording.gpu); named && named->name != places.from.name && places.from.built_in)
      report.notes.push_back("the file names " + named->name + " as its card, not " + places.from.name);
}

Status check_retimed(const RetimeQuery& query, const Recording& recording) {
  if (query.output.empty()) return Ok{};
  if (!recording.kineto)
    return field_error("output",
                       "only a PyTorch profiler's trace can be written again, and this is: " + recording.format,
                       "leave it out");
  return check_output(query.output, {query.trace});
}

}  // namespace

Result<RetimeReport> retime(const RetimeQuery& query, const Watch& watch) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  const auto recording = read_recording(query.trace, watch.part(0, kRead));
  if (!recording) return recording.error();
  if (auto fine = check_retimed(query, *recording); !fine) return std::move(fine).error();
  GroupedWork work = group_work(*recording);
  const int gpus = gpus_of_exchanges(work);
  const auto places = places_of(query, *recording, gpus);
  if (!places) return places.error();
  const auto chosen = chosen_method(Method::tilecast, query.weights);
  if (!chosen) return chosen.error();
  const auto cluster = [](const std::optional<Cluster>& c) { return c ? &*c : nullptr; };
  auto groups = retime_groups(
      work, {places->from, places->to, cluster(places->from_cluster), cluster(places->to_cluster), chosen->weights()},
      watch.part(kRead, kForecast));
  if (!groups) return std::move(groups).error();
  const auto times = retime(*recording, work, *groups);
  if (!times) return times.error();
  if (!query.output.empty())
    if (auto written = write_retimed(*recording, times->schedule, query.output, watch.part(kForecast, 1)); !written)
      return std::move(written).error();

  RetimeReport report = named_report(query, *recording, *places);
  report.notes.insert(report.notes.end(), work.notes.begin(), work.notes.end());
  add_notes(report, query, *recording, *places, gpus);
  add_work(report, std::move(work), *std::move(groups));
  for (std::size_t i = 0; i < times->recorded.size(); ++i)
    report.devices.push_back({times->recorded[i].device, times_of(times->recorded[i]), times_of(times->retimed[i])});
  return report;
}

const Question& retime_question() {
  static const Question question{
      "retime",
      "a profiler's trace of one rank, re-timed for another GPU or cluster",
      {"retime data/measurements/traces/h200_eager.json.gz --gpu B200 --output b200.json.gz",
       "retime data/measurements/traces/h200_eager.json.gz --from-cluster hgx-h200 --cluster hgx-b200"}};
  return question;
}

std::vector<BoundArgument> arguments_of(RetimeQuery& q) {
  Declare list;
  list.add(q.trace, {.name = "trace",
                     .help = "PyTorch profiler trace (.json, .json.gz) or another file that `tilecast diagnose` reads",
                     .example = "trace.json.gz",
                     .required = true,
                     .positional = true,
                     .touches = Touches::file});
  list.add(q.from, {.name = "from",
                    .help = "GPU the trace was recorded on (default: the one the file names)",
                    .example = "H100-SXM",
                    .touches = Touches::gpu});
  list.add(q.gpu, {.name = "gpu",
                   .help = "GPU to re-time it for: a name or a description file (default: that of --cluster)",
                   .example = "B200",
                   .touches = Touches::gpu});
  list.add(q.from_cluster,
           {.name = "from-cluster",
            .help = "cluster that the recorded ranks ran on: hgx-h100:4 (nodes), 64xH100, or a file (default: a "
                    "known one of that GPU)",
            .example = "hgx-h100:4",
            .touches = Touches::cluster});
  list.add(q.cluster, {.name = "cluster",
                       .help = "cluster to re-time collectives for (default: a known one of the GPU)",
                       .example = "hgx-b200:4",
                       .touches = Touches::cluster});
  list.add(q.weights, weights_argument());
  list.add(q.output, {.name = "output",
                      .help = "also write the re-timed trace to this file, compressed where its name ends in .gz",
                      .example = "b200.json.gz",
                      .touches = Touches::output});
  return list.take();
}

}  // namespace tilecast
