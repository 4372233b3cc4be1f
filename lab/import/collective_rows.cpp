#include "lab/import/collective_rows.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "cluster/registry.h"
#include "lab/import/source_mapping.h"
#include "support/csv.h"
#include "support/input.h"

namespace tilecast {
namespace {

constexpr double kLeastBytes = 256, kMostBytes = 1024.0 * 1024 * 1024;

constexpr std::array<std::string_view, 5> kFiles = {
    "aiconfigurator/nccl.csv.gz", "aiconfigurator/custom_allreduce.csv.gz", "aiconfigurator/deepep_normal.csv.gz",
    "aiconfigurator/deepep_ll.csv.gz", "aiconfigurator/trtllm_alltoall.csv.gz"};
// Its names of cards are aliases in data/gpus.
constexpr std::array<NameRule, 2> kGpus = {
    {{"b60", "", "oneCCL, a library of other collectives"},
     {"rtx_pro_6000_server", "", "its collectives came after the constants were fitted, and are kept to judge them"}}};
constexpr SourceMapping kMapping{
    .name = "aiconfigurator",
    .from = "github.com/ai-dynamo/aiconfigurator",
    .licence = "Apache-2.0",
    .files = kFiles,
    .gpus = kGpus,
    .protocol = {"one node, the library's own benchmark; engines' all-reduces in graphs and eagerly"}};

// A table's columns by name, its rows cell by cell.
class Table {
 public:
  static Result<Table> open(const std::string& path, const std::vector<std::string>& columns) {
    auto csv = CsvReader::open(path);
    if (!csv) return std::move(csv).error();
    Table table{*std::move(csv), {}};
    for (const std::string& name : columns) {
      auto column = table.csv_.column(name);
      if (!column) return std::move(column).error();
      table.columns_.push_back(*column);
    }
    return table;
  }
  Result<bool> next() { return csv_.next(); }
  bool bad() const { return !csv_.problem().empty(); }
  std::string_view operator[](std::size_t i) const { return csv_[columns_[i]]; }
  // Ranks, sizes and times must be numbers above zero; the error names a row where they are not.
  Result<double> number(std::size_t i) const {
    const auto value = to_double((*this)[i]);
    if (!value || !(*value > 0))
      return Error{csv_.place(), "", "is not a positive number: '" + std::string((*this)[i]) + "'",
                   "ranks, sizes and times belong there: fix the row, or remove it"};
    return *value;
  }

 private:
  Table(CsvReader csv, std::vector<std::size_t> columns) : csv_(std::move(csv)), columns_(std::move(columns)) {}
  CsvReader csv_;
  std::vector<std::size_t> columns_;
};

// What has been read so far; a card's name is looked up once.
struct CollectiveRows {
  std::vector<CollectiveRow> rows = {};
  LeftOutRows left_out = {};
  std::map<std::string, Result<Gpu>, std::less<>> cards = {};

  void push_back(CollectiveRow row) { rows.push_back(std::move(row)); }
};
// Adds what a line of a table says to the rows; lines that are not ours add nothing.
using Fill = Status (*)(const Table& table, CollectiveRow row, CollectiveRows& into);

Status read_table(const std::string& path, const std::vector<std::string>& columns, const CollectiveRow& pattern,
                  Fill fill, CollectiveRows& into) {
  auto table = Table::open(path, columns);
  if (!table) return std::move(table).error();
  while (true) {
    const auto more = table->next();
    if (!more) return more.error();
    if (!*more) return Ok{};
    if (table->bad()) {
      leave_out(into.left_out, "no row: fields are missing or too many");
      continue;
    }
    if (auto done = fill(*table, pattern, into); !done) return done;
  }
}

// The first columns as numbers.
template <std::size_t N>
Result<std::array<double, N>> numbers_of(const Table& table) {
  std::array<double, N> numbers{};
  for (std::size_t i = 0; i < N; ++i) {
    const auto value = table.number(i);
    if (!value) return value.error();
    numbers[i] = *value;
  }
  return numbers;
}

bool fill_gpu(std::string_view name, CollectiveRow& row, CollectiveRows& into) {
  auto card = into.cards.find(name);
  if (card == into.cards.end()) card = into.cards.emplace(std::string(name), gpu_of(kMapping, name)).first;
  const Result<Gpu>& gpu = card->second;
  if (!gpu) return leave_out(into.left_out, gpu.error().problem), false;
  if (!built_in_cluster_of(gpu->name))
    return leave_out(into.left_out, "no cluster of " + gpu->name + " is known"), false;
  row.gpu = gpu->name;
  return true;
}

// Columns of collectives: ranks, items, milliseconds, then what says which.
Status add_call(const Table& table, CollectiveRow row, double bytes_per_item, CollectiveRows& into) {
  const auto numbers = numbers_of<3>(table);
  if (!numbers) return numbers.error();
  row.call.ranks = static_cast<int>((*numbers)[0]);
  row.call.bytes = bytes((*numbers)[1] * bytes_per_item);
  row.measured = milliseconds((*numbers)[2]);
  if (in_bytes(row.call.bytes) >= kLeastBytes && in_bytes(row.call.bytes) <= kMostBytes) into.push_back(std::move(row));
  else leave_out(into.left_out, "messages of less than 256 B or more than 1 GiB");
  return Ok{};
}

Status fill_nccl(const Table& table, CollectiveRow row, CollectiveRows& into) {
  const auto op = collective_from(table[4]);  // "alltoall" is all_to_all to a forgiving reader
  if (!op) return leave_out(into.left_out, unknown_name("collective", table[4]).problem), Ok{};
  if (!fill_gpu(table[3], row, into)) return Ok{};
  row.call.op = *op;
  const bool integers = row.call.integers = table[5] == "int8";
  return add_call(table, std::move(row), integers ? 1 : 2, into);
}

Status fill_custom(const Table& table, CollectiveRow row, CollectiveRows& into) {
  const auto library = comm_library_from(table[4]);
  if (!library) return leave_out(into.left_out, unknown_name("library", table[4]).problem), Ok{};
  if (!fill_gpu(table[3], row, into)) return Ok{};
  row.call.library = *library;
  row.call.eager = table[5].ends_with("_eager");
  return add_call(table, std::move(row), 2, into);  // bf16
}

Status fill_synperf(const Table& table, CollectiveRow row, CollectiveRows& into) {
  return add_call(table, std::move(row), 1, into);
}

void add_exchange(CollectiveRow row, ExchangeOp op, double us, CollectiveRows& into) {
  row.exchange->op = op;
  row.measured = microseconds(us);
  into.push_back(std::move(row));
}

// DeepEP's tables: nodes, hidden size, tokens, topk, experts, then times; H100's rows under H200's name are left out.
// The test between nodes (test_internode.py of DeepEP) draws experts on four nodes at most. Over eight nodes that
// machine's network gave a third of its peak, and waits for late ranks are most of what was timed as telling counts,
// where DeepEP's own table (docs/legacy.md of its repository) has all of the peak: what is left out there is that
// network's, not the kernels'.
const std::vector<std::string> kDeepEpColumns = {"node_num", "hidden_size", "num_token", "num_topk", "num_experts"};
constexpr int kTestNodes = 4, kLateNodes = 8;

template <std::size_t N>
Status deepep_row(const Table& table, CollectiveRow& row, std::array<double, N>& numbers, bool& ours,
                  CollectiveRows& into) {
  const std::string_view gpu = table[N], version = table[N + 1];
  const bool copied = gpu == "h200_sxm" && version == "0.5.6.post2";
  if (copied) leave_out(into.left_out, "H100's rows under H200's name");
  ours = !copied && fill_gpu(gpu, row, into);
  if (!ours) return Ok{};
  const auto read = numbers_of<N>(table);
  if (!read) return read.error();
  numbers = *read;
  ExpertExchange x;
  const int nodes = static_cast<int>(numbers[0]);
  x.hidden = static_cast<int>(numbers[1]);
  x.tokens = static_cast<int>(numbers[2]);
  x.topk = static_cast<int>(numbers[3]);
  x.experts = static_cast<int>(numbers[4]);
  x.ranks = nodes * (gpu == "gb200" ? 4 : 8);  // a tray of GB200 has four GPUs
  row.exchange = x;
  return Ok{};
}

Status fill_deepep_normal(const Table& table, CollectiveRow row, CollectiveRows& into) {
  std::array<double, 8> n{};
  bool ours = false;
  if (auto done = deepep_row(table, row, n, ours, into); !done || !ours) return done;
  if (n[0] >= kLateNodes) return leave_out(into.left_out, "eight nodes of a network at a third of its peak"), Ok{};
  // Between nodes a kernel that tells counts runs first; within one it was left out of the measurement.
  const auto dispatch_notify = to_double(table[10]), combine_notify = to_double(table[11]);
  row.exchange->kind = ExchangeKind::deepep;
  row.exchange->most_nodes = kTestNodes;
  row.exchange->sms = static_cast<int>(n[5]);
  add_exchange(row, ExchangeOp::dispatch, n[6] + dispatch_notify.value_or(0), into);
  add_exchange(row, ExchangeOp::combine, n[7] + combine_notify.value_or(0), into);
  return Ok{};
}

Status fill_deepep_ll(const Table& table, CollectiveRow row, CollectiveRows& into) {
  std::array<double, 7> n{};
  bool ours = false;
  if (auto done = deepep_row(table, row, n, ours, into); !done || !ours) return done;
  row.exchange->kind = ExchangeKind::deepep_ll;
  add_exchange(row, ExchangeOp::dispatch, n[5], into);
  add_exchange(row, ExchangeOp::combine, n[6], into);
  return Ok{};
}

Status fill_trtllm(const Table& table, CollectiveRow row, CollectiveRows& into) {
  const std::string_view op = table[7], source = table[8], dtype = table[9];
  if (!fill_gpu(table[6], row, into)) return Ok{};
  const auto n = numbers_of<6>(table);
  if (!n) return n.error();
  ExpertExchange x;
  x.tokens = static_cast<int>((*n)[0]);
  x.hidden = static_cast<int>((*n)[1]);
  x.topk = static_cast<int>((*n)[2]);
  x.experts = static_cast<int>((*n)[3]);
  x.ranks = static_cast<int>((*n)[4]);
  x.kind = source == "NVLinkOneSided" ? ExchangeKind::trtllm_one_sided : ExchangeKind::trtllm_two_sided;
  x.balanced = true;
  x.element_bytes = dtype == "nvfp4" ? kNvfp4Element : dtype == "fp8" ? 1 : kBf16Element;
  if (op == "alltoall_combine") x.element_bytes = kBf16Element;
  row.exchange = x;
  add_exchange(row,
               op == "alltoall_dispatch"  ? ExchangeOp::dispatch
               : op == "alltoall_prepare" ? ExchangeOp::prepare
                                          : ExchangeOp::combine,
               (*n)[5] * 1000, into);
  return Ok{};
}

Status read_exchanges(const std::string& folder, const CollectiveRow& pattern, CollectiveRows& into) {
  const auto with = [](std::vector<std::string> columns, std::initializer_list<const char*> more) {
    columns.insert(columns.end(), more.begin(), more.end());
    return columns;
  };
  struct File {
    const char* name;
    std::vector<std::string> columns;
    Fill fill;
  };
  const File files[] = {
      {"deepep_normal",
       with(kDeepEpColumns, {"dispatch_sms", "dispatch_transmit_us", "combine_transmit_us", "gpu", "version",
                             "dispatch_notify_us", "combine_notify_us"}),
       fill_deepep_normal},
      {"deepep_ll", with(kDeepEpColumns, {"dispatch_avg_t_us", "combine_avg_t_us", "gpu", "version"}), fill_deepep_ll},
      {"trtllm_alltoall",
       {"num_tokens", "hidden_size", "topk", "num_experts", "moe_ep_size", "latency", "gpu", "op_name", "kernel_source",
        "moe_dtype"},
       fill_trtllm}};
  for (const File& file : files)
    if (auto done = read_table(fmt::format("{}/aiconfigurator/{}.csv.gz", folder, file.name), file.columns, pattern,
                               file.fill, into);
        !done)
      return done;
  return Ok{};
}

struct SynperfFile {
  const char *file, *gpu;
};
constexpr std::array<SynperfFile, 4> kSynperf = {
    {{"A100", "A100-SXM-80GB"}, {"H20", "H20"}, {"H800", "H800-SXM"}, {"RTX_6000_Ada", "RTX-6000-Ada"}}};

}  // namespace

Result<std::vector<CollectiveRow>> read_collectives(const std::string& folder, LeftOutRows* left_out) {
  CollectiveRows rows;
  CollectiveRow pattern;
  pattern.source = kPlainSource;
  if (auto done =
          read_table(folder + "/aiconfigurator/nccl.csv.gz",
                     {"num_gpus", "message_size", "latency", "gpu", "op_name", "nccl_dtype"}, pattern, fill_nccl, rows);
      !done)
    return std::move(done).error();
  if (auto done = read_table(folder + "/aiconfigurator/custom_allreduce.csv.gz",
                             {"num_gpus", "message_size", "latency", "gpu", "framework", "kernel_source"}, pattern,
                             fill_custom, rows);
      !done)
    return std::move(done).error();
  if (auto done = read_exchanges(folder, pattern, rows); !done) return std::move(done).error();
  pattern.source = "synperf";
  for (const SynperfFile& file : kSynperf)
    for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::send_recv}) {
      const std::string path = fmt::format("{}/synperf/collective/{}_{}.csv.gz", folder, file.file, name_of(op));
      if (!something_at(path)) continue;  // two GPUs have no send/recv
      pattern.gpu = file.gpu;
      pattern.call.op = op;
      const std::string median = fmt::format("time_stats.{}.median", name_of(op));
      if (auto done = read_table(path, {"num_workers", "size", median}, pattern, fill_synperf, rows); !done)
        return std::move(done).error();
    }
  if (left_out) *left_out = std::move(rows.left_out);
  return std::move(rows.rows);
}

bool is_apart(const CollectiveRow& row) { return !row.exchange && row.gpu == "L40S" && row.call.ranks > 2; }

bool is_held_out(const CollectiveRow& row) {
  if (row.exchange) return row.exchange->tokens == 16 || row.exchange->tokens == 256 || row.exchange->tokens == 4096;
  // FNV-1a of what makes a shape: the same on every machine, unlike std::hash.
  const std::string shape = fmt::format("{}|{}|{:.0f}", name_of(row.call.op), row.call.ranks, in_bytes(row.call.bytes));
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : shape) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return (hash ^ (hash >> 32)) % 10 == 0;
}

}  // namespace tilecast
