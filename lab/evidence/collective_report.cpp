#include "lab/evidence/collective_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lab/evidence/accuracy_table.h"
#include "lab/evidence/network_report.h"
#include "support/statistics.h"
#include "support/table.h"

namespace tilecast {
namespace {

constexpr int kNodeGpus = 8;  // of DeepEP's rows
constexpr std::array<std::string_view, 9> kKinds = {
    "NCCL, aiconfigurator",   "NCCL, SynPerf",         "engines' all-reduce, graph", "engines' all-reduce, eager",
    "DeepEP, within a node",  "DeepEP, between nodes", "DeepEP low latency, within", "DeepEP low latency, between",
    "TensorRT-LLM all-to-all"};
std::string_view kind_of(const CollectiveRow& row) {
  if (row.exchange) {
    const bool between = row.exchange->ranks > kNodeGpus;
    switch (row.exchange->kind) {
      case ExchangeKind::deepep: return kKinds[between ? 5 : 4];
      case ExchangeKind::deepep_ll: return kKinds[between ? 7 : 6];
      default: return kKinds[8];
    }
  }
  if (row.call.library == CommLibrary::nccl) return kKinds[row.source == kPlainSource ? 0 : 1];
  return kKinds[row.call.eager ? 3 : 2];
}

struct Errors {
  std::vector<double> errors;
  double bias = 0;
  Count inside = 0;
  void add(const CollectiveRow& row, const CollectiveOutcome& o) {
    const double ratio = o.forecast / row.measured;
    errors.push_back(std::abs(ratio - 1));
    bias += ratio - 1;
    inside += row.measured >= o.low && row.measured <= o.high;
  }
  double rows() const { return static_cast<double>(errors.size()); }
  double mean() const {
    double sum = 0;
    for (const double e : errors) sum += e;
    return sum / rows();
  }
  double p90() const {
    std::vector<double> copy = errors;
    return quantile(copy, 0.9);
  }
};

struct Line {
  Errors seen, unseen, alone;
};
using Lines = std::map<std::string, Line>;  // by GPU

std::vector<std::string> cells(const Line& line) {
  const auto share = [](const Errors& e, double value) { return e.errors.empty() ? "-" : percent_text(value); };
  std::vector<std::string> out;
  for (const Errors* e : {&line.seen, &line.unseen}) {
    out.push_back(fmt::format("{}", e->errors.size()));
    const bool any = !e->errors.empty();
    out.push_back(share(*e, any ? e->mean() : 0));
    out.push_back(share(*e, any ? e->p90() : 0));
    out.push_back(share(*e, any ? e->bias / e->rows() : 0));
    out.push_back(share(*e, any ? static_cast<double>(e->inside) / e->rows() : 0));
  }
  return out;
}

// Each GPU, then their average, then the machines that are kept apart.
void add_lines(Table& table, std::string_view kind, const Lines& lines, bool apart) {
  double seen = 0, unseen = 0;
  int with_seen = 0;
  for (const auto& [gpu, line] : lines) {
    std::vector<std::string> row = cells(line);
    row.insert(row.begin(), {std::string(kind), gpu + (apart ? ", 4 and 8 GPUs (apart)" : "")});
    table.add(std::move(row));
    unseen += line.unseen.mean();
    if (!line.seen.errors.empty()) seen += line.seen.mean(), ++with_seen;
  }
  if (apart || lines.empty()) return;
  table.add({std::string(kind), "**average**", "", with_seen > 0 ? percent_text(seen / with_seen) : "-", "", "", "", "",
             percent_text(unseen / static_cast<double>(lines.size())), "", "", ""});
}

struct BoundCounts {
  Count forecasts_below = 0, rows_below = 0;
};

// Averages over GPUs by table of the data, without the machine of eight L40S.
std::string summary(const CollectiveJudgement& judged) {
  const auto table_of = [](const CollectiveRow& row) {
    if (row.exchange)
      return row.exchange->kind == ExchangeKind::deepep      ? "deepep_normal"
             : row.exchange->kind == ExchangeKind::deepep_ll ? "deepep_ll"
                                                             : "trtllm_alltoall";
    if (row.source != kPlainSource) return "synperf/collective";
    return row.call.library == CommLibrary::nccl ? "nccl" : "custom_allreduce";
  };
  std::map<std::string, Lines> tables;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const CollectiveRow& row = judged.rows[i];
    if (row.gpu == "L40S") continue;
    Line& line = tables[table_of(row)][row.gpu];
    if (is_held_out(row)) line.seen.add(row, judged.seen[i]);
    line.unseen.add(row, judged.without_gpu[i]);
    line.alone.add(row, judged.without_architecture[i]);
  }
  Table table({"table"}, {"GPUs", "held-out sizes", "GPU left out", "architecture left out"});
  for (const auto& [name, lines] : tables) {
    double seen = 0, unseen = 0, alone = 0;
    for (const auto& [gpu, line] : lines) {
      if (!line.seen.errors.empty()) seen += line.seen.mean();
      unseen += line.unseen.mean();
      alone += line.alone.mean();
    }
    const double gpus = static_cast<double>(lines.size());
    table.add({name, fmt::format("{}", lines.size()), percent_text(seen / gpus), percent_text(unseen / gpus),
               percent_text(alone / gpus)});
  }
  return "Mean errors over GPUs, without the machine of eight L40S:\n\n" + table.markdown();
}

}  // namespace

std::string collective_report(const CollectiveJudgement& judged) {
  std::map<std::string_view, std::array<Lines, 2>> lines;  // [apart]
  BoundCounts below;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const CollectiveRow& row = judged.rows[i];
    Line& line = lines[kind_of(row)][is_apart(row) ? 1 : 0][row.gpu];
    if (is_held_out(row)) line.seen.add(row, judged.seen[i]);
    line.unseen.add(row, judged.without_gpu[i]);
    below.forecasts_below += judged.seen[i].forecast < judged.seen[i].bound;
    below.forecasts_below += judged.without_gpu[i].forecast < judged.without_gpu[i].bound;
    below.forecasts_below += judged.without_architecture[i].forecast < judged.without_architecture[i].bound;
    below.rows_below += row.measured < judged.seen[i].bound;
  }
  Table table({"what", "GPU"}, {"held-out rows", "mean", "p90", "bias", "in interval", "GPU left out: rows", "mean",
                                "p90", "bias", "in interval"});
  for (const std::string_view kind : kKinds)
    for (const bool apart : {false, true}) add_lines(table, kind, lines[kind][apart ? 1 : 0], apart);
  return fmt::format(
             "## Collectives\n\n"
             "NCCL's all-reduce, all-gather, reduce-scatter, all-to-all and send/recv, and the engines' own "
             "all-reduce, "
             "of 2 to 8 GPUs in a node and from 256 B to 1 GiB; dispatch and combine of experts' tokens by DeepEP (8 "
             "GPUs, GB200 4; between nodes 16 to 64) and TensorRT-LLM (2 to 64), 1 to 131,072 tokens of a rank. *Held "
             "out*: a tenth of the message sizes, the same on every GPU; of exchanges all rows of 16, 256 and 4,096 "
             "tokens. *GPU left out*: all its rows, of every source; H100 and H200, and B200 and GB200, are siblings. "
             "Eager engines wait for the host below some megabytes: a GPU left out gets the hosts of the nearest "
             "architecture, and nothing tells of a Grace host but GB200's own. DeepEP between nodes was measured on "
             "one GPU, TensorRT-LLM's all-to-all too: left out, other curves stand in. The constants of exchanges' "
             "physics were read off DeepEP's rows of H100 and TensorRT-LLM's of GB200, whose left-out figures they "
             "flatter. The machine of eight L40S runs "
             "NCCL at 1 to 5 GB/s over four and eight GPUs; such rows train nothing and stand apart.\n\n"
             "{} forecasts lie below their bound, of every row at its three standings; {} of {} rows were measured "
             "below it.\n\n",
             below.forecasts_below, below.rows_below, judged.rows.size()) +
         summary(judged) + table.markdown() +
         (judged.networks ? network_report(*judged.networks, judged.constants) : "");
}

}  // namespace tilecast
