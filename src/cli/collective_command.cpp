#include "cli/collective_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/units_text.h"
#include "cluster/collective.h"
#include "cluster/registry.h"
#include "gpu/dtype.h"
#include "learn/collective_report.h"
#include "learn/csv.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

struct Answer {
  std::string cluster;
  Collective call;
  CollectiveForecast forecast;
};

Json json_of(const Answer& a) {
  return Json{{"cluster", a.cluster},
              {"op", name_of(a.call.op)},
              {"bytes", in_bytes(a.call.bytes)},
              {"ranks", a.call.ranks},
              {"library", name_of(a.call.library)},
              {"latency_us", in_microseconds(a.forecast.latency)},
              {"interval_us", {in_microseconds(a.forecast.low), in_microseconds(a.forecast.high)}},
              {"bound_us", in_microseconds(a.forecast.bound)},
              {"bus_bytes_per_s", a.forecast.bus_bandwidth.base()},
              {"algorithm", a.forecast.algorithm},
              {"seen", a.forecast.seen}};
}

Result<bool> is_integer(const std::string& dtype) {
  const auto known = dtype_from(dtype);
  if (!known) return Error{"--dtype", "", "unknown number format '" + dtype + "'", "bf16, fp16, fp32, int8 ..."};
  return dtype.starts_with("int") || dtype.starts_with("uint");
}

Result<Collective> call_of(const CollectiveCommand& command) {
  Collective call;
  auto op = collective_from(command.op);
  if (!op) return std::move(op).error();
  call.op = *op;
  auto library = comm_library_from(command.library);
  if (!library) return std::move(library).error().at("--library");
  call.library = *library;
  auto integers = is_integer(command.dtype);
  if (!integers) return std::move(integers).error();
  call.integers = *integers;
  if (command.eager && call.library == CommLibrary::nccl)
    return Error{"--eager", "", "is for the engines' kernels", "name one: --library vllm, sglang or trtllm"};
  call.eager = command.eager;
  if (command.ranks < 0) return Error{"--ranks", "", "must be one or more", ""};
  if (command.nodes < 0) return Error{"--nodes", "", "must be one or more", ""};
  return call;
}

std::string table_text(const std::vector<Answer>& answers) {
  Table table({{"cluster", Align::left},
               {"bytes"},
               {"ranks"},
               {"forecast"},
               {"80 % interval"},
               {"bound"},
               {"bus bandwidth"},
               {"algorithm", Align::left}});
  bool unseen = false;
  for (const Answer& a : answers) {
    const CollectiveForecast& f = a.forecast;
    unseen |= !f.seen;
    table.add({a.cluster + (f.seen ? "" : " *"), fmt::format("{:.0f}", in_bytes(a.call.bytes)),
               std::to_string(a.call.ranks), text_of(f.latency),
               fmt::format("{} to {}", text_of(f.low), text_of(f.high)), text_of(f.bound), text_of(f.bus_bandwidth),
               f.algorithm});
  }
  return table.text() + (unseen ? "\n* no collective of this GPU was measured; its links speak for it\n" : "");
}

}  // namespace

Result<double> byte_count(const std::string& text) {
  std::string digits = text;
  double unit = 1;
  if (!digits.empty()) {
    const auto place = std::string("KMG").find(static_cast<char>(std::toupper(digits.back())));
    if (place != std::string::npos) {
      unit = std::pow(1024.0, static_cast<double>(place) + 1);
      digits.pop_back();
    }
  }
  const auto value = to_double(digits);
  if (!value || !(*value >= 0) || *value * unit > 1e15)
    return Error{"--bytes", "", "is no size: '" + text + "'", "for example 256, 64K, 1M or 1G"};
  return *value * unit;
}

Result<std::string> run_collective(const CollectiveCommand& command) {
  auto call = call_of(command);
  if (!call) return std::move(call).error();
  std::vector<Answer> answers;
  for (const std::string& name : command.clusters) {
    auto cluster = cluster_of(name, command.nodes > 0 ? 0 : command.ranks);
    if (!cluster) return std::move(cluster).error().at("--cluster");
    if (command.nodes > 0) cluster->nodes = command.nodes;
    if (cluster->nodes > 1 && !cluster->inter)
      return Error{"--nodes", "", "the nodes of " + cluster->name + " cannot reach each other",
                   "its file needs \"inter\""};
    for (const std::string& size : command.sizes) {
      auto bytes_of = byte_count(size);
      if (!bytes_of) return std::move(bytes_of).error();
      Collective one = *call;
      one.bytes = bytes(*bytes_of);
      one.ranks = command.ranks > 0                   ? command.ranks
                  : one.op == CollectiveOp::send_recv ? std::min(2, cluster->gpus())
                                                      : cluster->gpus();
      auto forecast = forecast_collective(one, *cluster, shipped_comm_constants());
      if (!forecast) return std::move(forecast).error().at(cluster->name);
      answers.push_back({cluster->name, one, *std::move(forecast)});
    }
  }
  if (!command.json) return table_text(answers);
  Json list = Json::array();
  for (const Answer& a : answers) list.push_back(json_of(a));
  return list.dump(2) + "\n";
}

Result<std::string> run_clusters(bool json) {
  if (json) {
    Json list = Json::array();
    for (const Cluster& c : built_in_clusters()) {
      Json one = {{"name", c.name},
                  {"gpu", c.gpu.name},
                  {"gpus_per_node", c.gpus_per_node},
                  {"nodes", c.nodes},
                  {"link", name_of(c.intra.kind)},
                  {"link_bytes_per_s", c.intra.bandwidth.base()},
                  {"nvls", c.intra.nvls}};
      if (c.inter) one["network_bytes_per_s"] = c.inter->bandwidth.base();
      list.push_back(std::move(one));
    }
    return list.dump(2) + "\n";
  }
  Table table({{"cluster", Align::left},
               {"GPU", Align::left},
               {"a node"},
               {"links", Align::left},
               {"a GPU"},
               {"NVLS"},
               {"network", Align::left},
               {"a GPU"}});
  for (const Cluster& c : built_in_clusters())
    table.add({c.name, c.gpu.name, std::to_string(c.gpus_per_node), std::string(name_of(c.intra.kind)),
               text_of(c.intra.bandwidth), c.intra.nvls ? "yes" : "no", c.inter ? c.inter->kind : "none",
               c.inter ? text_of(c.inter->bandwidth) : ""});
  return table.text() +
         "\nRates are peaks of one direction. --nodes joins several; docs/clusters.md describes files.\n";
}

Result<std::string> run_collectives(const CollectivesCommand& command) {
  auto rows = read_collectives(command.data);
  if (!rows) return std::move(rows).error();
  auto judged = judge_collectives(*std::move(rows));
  if (!judged) return std::move(judged).error();
  if (!command.fit.empty())
    if (auto written = write_text_file(command.fit, comm_constants_text(judged->constants)); !written)
      return std::move(written).error();
  return collective_report(*judged);
}

}  // namespace tilecast
