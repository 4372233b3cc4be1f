#include "cli/commands/collective_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <variant>

#include "cli/terminal/units_text.h"
#include "cluster/expert_exchange.h"
#include "cluster/registry.h"
#include "gpu/dtype.h"
#include "support/csv.h"
#include "support/file.h"
#include "support/json.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

struct Answer {
  std::string cluster;
  std::variant<Collective, ExpertExchange> call;
  CollectiveForecast forecast;
};

Json call_json(const Collective& call) {
  return {{"op", name_of(call.op)},
          {"bytes", in_bytes(call.bytes)},
          {"ranks", call.ranks},
          {"library", name_of(call.library)}};
}

Json call_json(const ExpertExchange& x) {
  return {{"op", name_of(x.op)}, {"tokens", x.tokens},        {"hidden", x.hidden},
          {"topk", x.topk},      {"experts", x.experts},      {"bytes_per_element", x.element()},
          {"ranks", x.ranks},    {"library", name_of(x.kind)}};
}

Json json_of(const Answer& a) {
  Json json = {{"cluster", a.cluster}};
  json.update(std::visit([](const auto& call) { return call_json(call); }, a.call));
  json.update(Json{{"latency_us", in_microseconds(a.forecast.latency)},
                   {"interval_us", {in_microseconds(a.forecast.low), in_microseconds(a.forecast.high)}},
                   {"bound_us", in_microseconds(a.forecast.bound)},
                   {"bus_bytes_per_s", a.forecast.bus_bandwidth.base()},
                   {"algorithm", a.forecast.algorithm},
                   {"seen", a.forecast.seen}});
  return json;
}

Result<bool> is_integer(const std::string& dtype) {
  const auto known = dtype_from(dtype);
  if (!known) return Error{"--dtype", "", "unknown number format '" + dtype + "'", "bf16, fp16, fp32, int8 ..."};
  return dtype.starts_with("int") || dtype.starts_with("uint");
}

// Every call a command asks for, as yet without ranks where it does not say.
using Calls = std::vector<std::variant<Collective, ExpertExchange>>;

Result<Calls> collectives_of(const CollectiveCommand& command) {
  Collective call;
  auto op = collective_from(command.op);
  if (!op) return std::move(op).error();
  call.op = *op;
  auto library = comm_library_from(command.library.empty() ? "nccl" : command.library);
  if (!library) return std::move(library).error().at("--library");
  call.library = *library;
  auto integers = is_integer(command.dtype.empty() ? "bf16" : command.dtype);
  if (!integers) return std::move(integers).error();
  call.integers = *integers;
  if (command.eager && call.library == CommLibrary::nccl)
    return Error{"--eager", "", "is for the engines' kernels", "name one: --library vllm, sglang or trtllm"};
  call.eager = command.eager;
  call.ranks = command.ranks;
  call.local = command.local;
  if (command.sizes.empty()) return Error{"--bytes", "", "is missing", "for example --bytes 64K,1M"};
  Calls calls;
  for (const std::string& size : command.sizes) {
    auto bytes_of = byte_count(size);
    if (!bytes_of) return std::move(bytes_of).error();
    call.bytes = bytes(*bytes_of);
    calls.emplace_back(call);
  }
  return calls;
}

Result<Calls> exchanges_of(const CollectiveCommand& command) {
  ExpertExchange x;
  x.op = *exchange_op_from(command.op);
  auto kind = exchange_kind_from(!command.library.empty()      ? command.library
                                 : x.op == ExchangeOp::prepare ? "trtllm-two-sided"
                                                               : "deepep");
  if (!kind) return std::move(kind).error().at("--library");
  x.kind = *kind;
  const std::map<std::string, double> formats = {
      {"", 0}, {"bf16", kBf16Element}, {"fp16", kBf16Element}, {"fp8", kFp8Element}, {"nvfp4", kNvfp4Element}};
  const auto format = formats.find(command.dtype);
  if (format == formats.end())
    return Error{"--dtype", "", "no tokens travel as '" + command.dtype + "'", "one of bf16, fp16, fp8, nvfp4"};
  x.element_bytes = format->second;
  x.hidden = command.hidden, x.topk = command.topk, x.experts = command.experts, x.ranks = command.ranks;
  x.most_nodes = command.most_nodes, x.sms = command.sms, x.balanced = command.balanced;
  if (!command.sizes.empty())
    return Error{"--bytes", "", "is for collectives", "say --tokens, and --hidden if not 7168"};
  if (command.eager) return Error{"--eager", "", "is for the engines' all-reduce", "leave it out"};
  if (command.local > 0) return Error{"--local", "", "is for collectives", "ranks of experts fill nodes"};
  if (command.tokens.empty()) return Error{"--tokens", "", "is missing", "tokens of a rank, for example --tokens 128"};
  Calls calls;
  for (const int tokens : command.tokens) {
    x.tokens = tokens;
    calls.emplace_back(x);
  }
  return calls;
}

Result<Calls> calls_of(const CollectiveCommand& command) {
  constexpr int kMostRanks = 1 << 20;
  if (command.ranks < 0 || command.ranks > kMostRanks)
    return Error{"--ranks", "", fmt::format("must lie between 1 and {}", kMostRanks), ""};
  if (command.nodes < 0) return Error{"--nodes", "", "must be one or more", ""};
  if (command.local < 0 || (command.local > 0 && command.ranks == 0))
    return Error{"--local", "", "must be one or more, with --ranks", ""};
  const bool exchange = std::any_of(kExchangeOpNames.begin(), kExchangeOpNames.end(),
                                    [&](std::string_view name) { return name_key(name) == name_key(command.op); });
  return exchange ? exchanges_of(command) : collectives_of(command);
}

// With the nodes asked for, else with those that the ranks need.
Result<Cluster> cluster_for(const CollectiveCommand& command, const std::string& name) {
  auto cluster = cluster_of(name, command.nodes > 0 || command.local > 0 ? 0 : command.ranks);
  if (cluster && command.nodes == 0 && command.local > 0) {
    const auto nodes = static_cast<int>(ceil_div(command.ranks, command.local));
    cluster = cluster_of(name, nodes * cluster->gpus_per_node);
  }
  if (!cluster) return std::move(cluster).error().at("--cluster");
  if (command.nodes > 0) cluster->nodes = command.nodes;
  if (cluster->nodes > 1 && !cluster->inter)
    return Error{"--nodes", "", "the nodes of " + cluster->name + " cannot reach each other",
                 "its file needs \"inter\""};
  return cluster;
}

Result<CollectiveForecast> forecast_of(Collective& call, const Cluster& cluster) {
  const bool pair = call.op == CollectiveOp::send_recv;
  if (call.ranks == 0) call.ranks = pair ? std::min(2, cluster.gpus()) : cluster.gpus();
  return forecast_collective(call, cluster, shipped_comm_constants());
}

Result<CollectiveForecast> forecast_of(ExpertExchange& x, const Cluster& cluster) {
  if (x.ranks == 0) x.ranks = cluster.gpus();
  return forecast_exchange(x, cluster, shipped_comm_constants());
}

std::string table_text(const std::vector<Answer>& answers) {
  const bool tokens = !answers.empty() && std::holds_alternative<ExpertExchange>(answers.front().call);
  Table table({{"cluster", Align::left},
               {tokens ? "tokens" : "bytes"},
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
    const double size = tokens ? std::get<ExpertExchange>(a.call).tokens : in_bytes(std::get<Collective>(a.call).bytes);
    const int ranks = std::visit([](const auto& call) { return call.ranks; }, a.call);
    table.add({a.cluster + (f.seen ? "" : " *"), fmt::format("{:.0f}", size), std::to_string(ranks), text_of(f.latency),
               fmt::format("{} to {}", text_of(f.low), text_of(f.high)), text_of(f.bound), text_of(f.bus_bandwidth),
               f.algorithm});
  }
  const char* unmeasured = tokens ? "\n* this exchange was not measured on this GPU; its links speak for it\n"
                                  : "\n* no collective of this GPU was measured; its links speak for it\n";
  return table.text() + (unseen ? unmeasured : "");
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
  auto calls = calls_of(command);
  if (!calls) return std::move(calls).error();
  std::vector<Answer> answers;
  for (const std::string& name : command.clusters) {
    auto cluster = cluster_for(command, name);
    if (!cluster) return std::move(cluster).error();
    for (auto call : *calls) {
      auto forecast = std::visit([&](auto& one) { return forecast_of(one, *cluster); }, call);
      if (!forecast) return std::move(forecast).error().at(cluster->name);
      answers.push_back({cluster->name, call, *std::move(forecast)});
    }
  }
  if (!command.json) return table_text(answers);
  Json list = Json::array();
  for (const Answer& a : answers) list.push_back(json_of(a));
  return json_text(list);
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
    return json_text(list);
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

}  // namespace tilecast
