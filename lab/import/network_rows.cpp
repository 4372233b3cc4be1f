#include "lab/import/network_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cluster/registry.h"
#include "lab/import/collective_rows.h"
#include "support/csv.h"
#include "support/input.h"

namespace tilecast {
namespace {

constexpr const char* kSickNetwork = "xxrjun-17-node";
const std::vector<std::string> kNetworkColumns = {
    "cluster", "nodes",          "gpus_per_node",      "collective",        "bytes",
    "time_us", "busbw_gb_per_s", "busbw_p05_gb_per_s", "busbw_p95_gb_per_s"};

struct NetworkTable {
  CsvReader csv;
  std::vector<std::size_t> columns;
  std::string_view operator[](std::size_t i) const { return csv[columns[i]]; }
  Result<double> number(std::size_t i) const {
    const auto value = to_double((*this)[i]);
    if (!value || !(*value > 0))
      return Error{csv.place(), "", "is not a positive number: '" + std::string((*this)[i]) + "'", ""};
    return *value;
  }
};

Status add_band(const NetworkTable& table, CollectiveOp op, int nodes, int local, NetworkRows& into) {
  NetworkBand band{nodes, local, op};
  for (const auto& [column, member] :
       {std::pair(std::size_t{6}, &NetworkBand::usual), {7, &NetworkBand::low}, {8, &NetworkBand::high}}) {
    const auto value = table.number(column);
    if (!value) return value.error();
    band.*member = *value;
  }
  into.bands.push_back(band);
  return Ok{};
}

Status add_network_row(const NetworkTable& table, NetworkRows& into) {
  const std::string network(table[0]);
  const auto op = collective_from(table[3]);
  if (!op) return leave_out(into.left_out, unknown_name("collective", table[3]).problem), Ok{};
  const auto nodes = table.number(1), local = table.number(2);
  if (!nodes || !local) return (nodes ? local : nodes).error();
  NetworkRow row{network, static_cast<int>(*nodes), static_cast<int>(*local), {}, {}};
  if (table[4].empty()) return add_band(table, *op, row.nodes, row.local, into);
  if (row.nodes == 1 && network.ends_with("pairwise_nvlink"))
    return leave_out(into.left_out, "within nodes of NVLink pairs, which no description covers"), Ok{};
  const auto size = table.number(4), time = table.number(5);
  if (!size || !time) return (size ? time : size).error();
  const bool message = *op == CollectiveOp::send_recv;
  row.call.op = *op;
  row.call.bytes = bytes(*size);
  row.call.ranks = message ? 2 : row.nodes * row.local;
  row.call.local = row.nodes == 1 ? 0 : message ? 1 : row.local;
  row.call.groups = 1;  // nothing else was running there
  row.measured = microseconds(*time);
  into.rows.push_back(std::move(row));
  return Ok{};
}

// Rows of one call and size, sorted by time; a faulty network's slower half is dropped.
void keep_the_faster_half(NetworkRows& all) {
  std::map<std::tuple<CollectiveOp, int, int, double>, std::vector<double>> times;
  const auto key = [](const NetworkRow& r) { return std::tuple(r.call.op, r.nodes, r.local, in_bytes(r.call.bytes)); };
  for (const NetworkRow& row : all.rows)
    if (row.network == kSickNetwork) times[key(row)].push_back(in_seconds(row.measured));
  for (auto& [call, list] : times) std::sort(list.begin(), list.end());
  const auto slow = [&](const NetworkRow& row) {
    if (row.network != kSickNetwork) return false;
    const std::vector<double>& list = times.at(key(row));
    return in_seconds(row.measured) > list[(list.size() - 1) / 2];
  };
  const auto kept =
      std::stable_partition(all.rows.begin(), all.rows.end(), [&](const NetworkRow& r) { return !slow(r); });
  for (auto row = kept; row != all.rows.end(); ++row)
    leave_out(all.left_out, fmt::format("the slower half of {}", kSickNetwork));
  all.rows.erase(kept, all.rows.end());
}

}  // namespace

Result<NetworkRows> read_network_rows(const std::string& folder) {
  auto csv = CsvReader::open(folder + "/collectives/collectives.csv.gz");
  if (!csv) return std::move(csv).error();
  NetworkTable table{*std::move(csv), {}};
  for (const std::string& name : kNetworkColumns) {
    const auto column = table.csv.column(name);
    if (!column) return column.error();
    table.columns.push_back(*column);
  }
  NetworkRows all;
  while (true) {
    const auto more = table.csv.next();
    if (!more) return more.error();
    if (!*more) break;
    if (!table.csv.problem().empty()) {
      leave_out(all.left_out, "no row: fields are missing or too many");
      continue;
    }
    if (auto done = add_network_row(table, all); !done) return std::move(done).error();
  }
  keep_the_faster_half(all);
  return all;
}

Result<Cluster> nodes_like(const std::string& network, int nodes) {
  const std::string name = network.starts_with("vidur-a100_dgx") ? "hgx-a100-8"
                           : network.starts_with("vidur")        ? "a40-pcie-8"
                                                                 : "hgx-h100-8";
  auto cluster = find_cluster(name);
  if (cluster) cluster->nodes = nodes;
  return cluster;
}

bool is_held_out(const NetworkRow& row) {
  const double size = in_bytes(row.call.bytes);
  if (row.network.starts_with("xxrjun")) {
    const double octaves = std::log2(size / in_bytes(mebibytes(64)));  // 64 MiB, 1 GiB and 8 GiB
    return octaves == 0 || octaves == 4 || octaves == 7;
  }
  CollectiveRow shape;
  shape.call = row.call;
  return is_held_out(shape);
}

bool ends_early(const NetworkRow& row) {
  return row.network.starts_with("vidur") && row.call.op == CollectiveOp::send_recv && row.call.bytes <= mebibytes(4);
}

}  // namespace tilecast
