#include "lab/evidence/network_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <tuple>

#include "cluster/fabric.h"
#include "cluster/registry.h"
#include "lab/evidence/accuracy_table.h"
#include "support/statistics.h"
#include "support/table.h"

namespace tilecast {
namespace {

// Below it steps dominate, above it bytes.
bool is_short(const NetworkRow& row) { return row.call.bytes < mebibytes(1); }

struct NetworkErrors {
  std::vector<double> errors;
  Count inside = 0;
  void add(const NetworkRow& row, const NetworkOutcome& o) {
    errors.push_back(std::abs(o.forecast / row.measured - 1));
    inside += row.measured >= o.low && row.measured <= o.high;
  }
  double mean() const {
    double sum = 0;
    for (const double e : errors) sum += e;
    return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
  }
  std::string mean_text() const { return errors.empty() ? "-" : percent_text(mean()); }
  std::string inside_text() const {
    return errors.empty() ? "-" : percent_text(static_cast<double>(inside) / static_cast<double>(errors.size()));
  }
};

struct NetworkLine {
  NetworkErrors held, held_long, left_long, left_short, early;
  void add(const NetworkRow& row, const NetworkOutcome& seen, const NetworkOutcome& left) {
    if (is_held_out(row)) held.add(row, seen);
    if (ends_early(row)) early.add(row, left);
    else (is_short(row) ? left_short : left_long).add(row, left);
  }
};

// Means over calls, so that a dense sweep does not outvote the rest.
struct MeanOfCalls {
  double sum = 0;
  int count = 0;
  void add(const NetworkErrors& errors) {
    if (!errors.errors.empty()) sum += errors.mean(), ++count;
  }
  std::string text() const { return count > 0 ? percent_text(sum / count) : "-"; }
};

using CallName = std::tuple<std::string, int, int, std::string>;  // network, nodes, local, op

std::map<CallName, NetworkLine> lines_of(const NetworkJudgement& judged) {
  std::map<CallName, NetworkLine> lines;
  for (std::size_t i = 0; i < judged.data.rows.size(); ++i) {
    const NetworkRow& row = judged.data.rows[i];
    if (row.nodes > 1)
      lines[{row.network, row.nodes, row.local, std::string(name_of(row.call.op))}].add(row, judged.seen[i],
                                                                                        judged.left_out[i]);
  }
  return lines;
}

std::string by_network(const NetworkJudgement& judged, const std::map<CallName, NetworkLine>& lines) {
  Table table({"network"}, {"told pair, GB/s", "calls", "held-out sizes", "left out, from 1 MiB", "left out, shorter",
                            "senders up to 4 MiB"});
  std::array<MeanOfCalls, 4> all;
  for (const auto& [name, pair] : judged.pairs) {
    std::array<MeanOfCalls, 4> means;
    int calls = 0;
    for (const auto& [call, line] : lines) {
      if (std::get<0>(call) != name) continue;
      ++calls;
      const std::array<const NetworkErrors*, 4> parts = {&line.held, &line.left_long, &line.left_short, &line.early};
      for (std::size_t i = 0; i < parts.size(); ++i) means[i].add(*parts[i]);
    }
    std::vector<std::string> cells = {name, fmt::format("{:.1f}", in_gigabytes_per_second(pair)),
                                      fmt::format("{}", calls)};
    for (std::size_t i = 0; i < means.size(); ++i) {
      cells.push_back(means[i].text());
      if (means[i].count > 0) all[i].sum += means[i].sum / means[i].count, ++all[i].count;
    }
    table.add(std::move(cells));
  }
  table.add({"**average**", "", "", all[0].text(), all[1].text(), all[2].text(), all[3].text()});
  return table.markdown();
}

std::string by_call(const std::map<CallName, NetworkLine>& lines) {
  Table table({"network", "call", "nodes x GPUs"},
              {"held-out rows", "mean", "in interval", "left out: rows from 1 MiB", "mean", "in interval",
               "shorter: rows", "mean", "senders up to 4 MiB: rows", "mean"});
  for (const auto& [call, line] : lines) {
    const auto count = [](const NetworkErrors& e) { return fmt::format("{}", e.errors.size()); };
    table.add({std::get<0>(call), std::get<3>(call), fmt::format("{} x {}", std::get<1>(call), std::get<2>(call)),
               count(line.held), line.held.mean_text(), line.held.inside_text(), count(line.left_long),
               line.left_long.mean_text(), line.left_long.inside_text(), count(line.left_short),
               line.left_short.mean_text(), count(line.early), line.early.mean_text()});
  }
  return table.markdown();
}

std::string within_nodes(const NetworkJudgement& judged) {
  std::map<std::pair<std::string, std::string>, NetworkErrors> lines;
  for (std::size_t i = 0; i < judged.data.rows.size(); ++i) {
    const NetworkRow& row = judged.data.rows[i];
    if (row.nodes == 1)
      lines[{row.network, fmt::format("{}, {} GPUs", name_of(row.call.op), row.local)}].add(row, judged.left_out[i]);
  }
  Table table({"network", "call within a node"}, {"rows", "mean", "in interval"});
  for (const auto& [key, errors] : lines)
    table.add(
        {key.first, key.second, fmt::format("{}", errors.errors.size()), errors.mean_text(), errors.inside_text()});
  return table.markdown();
}

double bus_of(CollectiveOp op, Bytes size, int nodes, const Cluster& cluster, const CommConstants& constants) {
  Collective call;
  call.op = op, call.bytes = size, call.ranks = nodes * cluster.gpus_per_node;
  const auto forecast = forecast_collective(call, cluster, constants);
  return forecast ? in_gigabytes_per_second(forecast->bus_bandwidth) : 0;
}

// The size at which one node's forecast is the bandwidth measured there.
Bytes size_of_band(const NetworkBand& one, const Cluster& cluster, const CommConstants& constants) {
  double low = std::log2(in_bytes(kibibytes(64))), high = std::log2(in_bytes(gibibytes(16)));
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (bus_of(one.op, bytes(std::exp2(middle)), 1, cluster, constants) < one.usual ? low : high) = middle;
  }
  return bytes(std::exp2(low));
}

std::string by_band(const NetworkJudgement& judged, const CommConstants& constants) {
  const Cluster plain = *find_cluster("hgx-h100-8");
  const auto set = with_fabric(plain, "huggingface-h100");
  Table table({"collective"},
              {"nodes", "measured, GB/s", "5 to 95 %", "400 Gb/s InfiniBand", "huggingface-h100", "within it"});
  for (const NetworkBand& one : judged.data.bands) {
    if (one.nodes != 1 || !set) continue;
    const Bytes size = size_of_band(one, plain, constants);
    for (const NetworkBand& band : judged.data.bands) {
      if (band.op != one.op || band.nodes == 1) continue;
      const auto bus = [&](Cluster cluster) {
        cluster.nodes = band.nodes;
        return bus_of(band.op, size, band.nodes, cluster, constants);
      };
      const double reached = bus(*set);
      table.add({fmt::format("{}, {:.0f} MB", name_of(band.op), in_bytes(size) / 1e6), fmt::format("{}", band.nodes),
                 fmt::format("{:.0f}", band.usual), fmt::format("{:.0f} to {:.0f}", band.low, band.high),
                 fmt::format("{:.0f}", bus(plain)), fmt::format("{:.0f}", reached),
                 reached >= band.low && reached <= band.high ? "yes" : "no"});
    }
  }
  return table.markdown();
}

std::string figures_text(const NetworkJudgement& judged) {
  std::vector<std::string> names;
  names.reserve(std::size(kNetworkFigures));
  for (const auto& [name, member] : kNetworkFigures) names.push_back(fmt::format("{}", name));
  Table table({"fitted without"}, names);
  const auto add = [&](const std::string& label, const NetworkConstants& c) {
    std::vector<std::string> cells = {label};
    for (const auto& [name, member] : kNetworkFigures) cells.push_back(fmt::format("{:.3g}", c.*member));
    table.add(std::move(cells));
  };
  add("(assumed)", NetworkConstants{});
  for (const auto& [name, constants] : judged.without) add(name, constants);
  add("none: shipped", judged.constants);
  return table.markdown();
}

std::string bounds_text(const NetworkJudgement& judged) {
  Count forecasts = 0, rows = 0, between = 0, early = 0;
  for (std::size_t i = 0; i < judged.data.rows.size(); ++i) {
    const NetworkRow& row = judged.data.rows[i];
    forecasts += judged.seen[i].forecast < judged.seen[i].bound;
    forecasts += judged.left_out[i].forecast < judged.left_out[i].bound;
    const bool sender = row.network.starts_with("vidur") && row.call.op == CollectiveOp::send_recv;
    const bool beats = row.measured < judged.left_out[i].bound;
    (sender ? early : rows) += beats;
    between += row.nodes > 1;
  }
  return fmt::format(
      "{} forecasts lie below their bound, of every row seen and left out; {} of {} rows were measured below it ({} "
      "between nodes), and {} more of senders' kernels, which end before their bytes have arrived.\n\n",
      forecasts, rows, judged.data.rows.size(), between, early);
}

}  // namespace

std::string network_report(const NetworkJudgement& judged, const CommConstants& constants) {
  const auto lines = lines_of(judged);
  return "## Between nodes\n\n"
         "NCCL between two nodes on five clusters: two of H100 by nccl-tests (32 MB to 16 GB; of the 17 nodes, whose "
         "links are partly faulty, the faster half of each size), three of A100 and A40 by Vidur's profiler (2 KB to "
         "64 "
         "MB). *Held-out sizes*: three of ten, of Vidur's a tenth; the network's other sizes were seen, and what it "
         "departs from physics by is interpolated. *Left out*: figures fitted on the other networks; the network is "
         "told the bandwidth of one pair of GPUs and stands otherwise on the built-in description of such nodes. A "
         "pair "
         "below 11.25 GB/s is taken to have no GPUDirect: that rule and what a node carries without it were set with "
         "Vidur's A100 in sight, the only such network whose collectives were measured, so that its left-out figure is "
         "not a blind one. Vidur's send/recv is the sender's kernel, which ends once the rest of the message fits into "
         "NCCL's buffer of 4 MiB; such rows stand apart. Means are over calls, then over networks.\n\n" +
         bounds_text(judged) + by_network(judged, lines) + by_call(lines) + figures_text(judged) +
         "Calls within nodes of the same clusters, by the constants of other sources; they trained nothing:\n\n" +
         within_nodes(judged) +
         "The Ultra-Scale playbook's cluster: bandwidths of many jobs, message size and fabric not stated. Each "
         "forecast "
         "is of the size at which one node's forecast is the bandwidth measured on one node: over healthy InfiniBand "
         "of "
         "400 Gb/s per GPU, and over the fabric huggingface-h100, which was set by hand to these medians and says how "
         "far "
         "a busy cluster is from its data sheet:\n\n" +
         by_band(judged, constants);
}

}  // namespace tilecast
