#include "learn/collective_rows.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>

#include "learn/csv.h"

namespace tilecast {
namespace {

constexpr double kLeastBytes = 256, kMostBytes = 1024.0 * 1024 * 1024;

const std::map<std::string, std::string, std::less<>> kGpus = {
    {"a100_sxm", "A100-SXM-80GB"}, {"h100_sxm", "H100-SXM"}, {"h200_sxm", "H200-SXM"},
    {"b200_sxm", "B200"},          {"gb200", "GB200"},       {"l40s", "L40S"}};

// A table's columns by name, its rows by cell.
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
  // Ranks, sizes and times must be numbers above zero; a row where they are not is named.
  Result<double> number(std::size_t i) const {
    const auto value = to_double((*this)[i]);
    if (!value || !(*value > 0))
      return Error{csv_.place(), "", "is no positive number: '" + std::string((*this)[i]) + "'", ""};
    return *value;
  }

 private:
  Table(CsvReader csv, std::vector<std::size_t> columns) : csv_(std::move(csv)), columns_(std::move(columns)) {}
  CsvReader csv_;
  std::vector<std::size_t> columns_;
};

using Rows = std::vector<CollectiveRow>;
// Turns a row whose ranks, size and milliseconds are read into ours; false: not one of ours.
using Fill = bool (*)(const Table& table, CollectiveRow& row, double& bytes_per_item);

Status read_table(const std::string& path, const std::vector<std::string>& columns, const CollectiveRow& pattern,
                  Fill fill, Rows& into) {
  auto table = Table::open(path, columns);
  if (!table) return std::move(table).error();
  while (true) {
    const auto more = table->next();
    if (!more) return more.error();
    if (!*more) return Ok{};
    if (table->bad()) continue;
    CollectiveRow row = pattern;
    double item = 1;
    if (!fill(*table, row, item)) continue;
    std::array<double, 3> numbers{};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto value = table->number(i);
      if (!value) return value.error();
      numbers[i] = *value;
    }
    row.call.ranks = static_cast<int>(numbers[0]);
    row.call.bytes = bytes(numbers[1] * item);
    row.measured = milliseconds(numbers[2]);
    if (in_bytes(row.call.bytes) >= kLeastBytes && in_bytes(row.call.bytes) <= kMostBytes)
      into.push_back(std::move(row));
  }
}

bool fill_gpu(std::string_view name, CollectiveRow& row) {
  const auto gpu = kGpus.find(name);
  if (gpu == kGpus.end()) return false;
  row.gpu = gpu->second;
  return true;
}

bool fill_nccl(const Table& table, CollectiveRow& row, double& item) {
  const auto op = collective_from(table[4]);  // "alltoall" is all_to_all to a forgiving reader
  if (!op || !fill_gpu(table[3], row)) return false;
  row.call.op = *op;
  row.call.integers = table[5] == "int8";
  item = row.call.integers ? 1 : 2;
  return true;
}

bool fill_custom(const Table& table, CollectiveRow& row, double& item) {
  const auto library = comm_library_from(table[4]);
  if (!library || !fill_gpu(table[3], row)) return false;
  row.call.library = *library;
  row.call.eager = table[5].ends_with("_eager");
  item = 2;  // bf16
  return true;
}

bool fill_synperf(const Table&, CollectiveRow&, double&) { return true; }

struct SynperfFile {
  const char *file, *gpu;
};
constexpr std::array<SynperfFile, 4> kSynperf = {
    {{"A100", "A100-SXM-80GB"}, {"H20", "H20"}, {"H800", "H800-SXM"}, {"RTX_6000_Ada", "RTX-6000-Ada"}}};

}  // namespace

Result<std::vector<CollectiveRow>> read_collectives(const std::string& folder) {
  Rows rows;
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
  pattern.source = "synperf";
  for (const SynperfFile& file : kSynperf)
    for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::send_recv}) {
      const std::string path = fmt::format("{}/synperf/collective/{}_{}.csv.gz", folder, file.file, name_of(op));
      if (!std::filesystem::exists(path)) continue;  // two GPUs have no send/recv
      pattern.gpu = file.gpu;
      pattern.call.op = op;
      const std::string median = fmt::format("time_stats.{}.median", name_of(op));
      if (auto done = read_table(path, {"num_workers", "size", median}, pattern, fill_synperf, rows); !done)
        return std::move(done).error();
    }
  return rows;
}

bool is_apart(const CollectiveRow& row) { return row.gpu == "L40S" && row.call.ranks > 2; }

bool is_held_out(const CollectiveRow& row) {
  // FNV-1a of what makes a shape: the same on every machine, unlike std::hash.
  const std::string shape = fmt::format("{}|{}|{:.0f}", name_of(row.call.op), row.call.ranks, in_bytes(row.call.bytes));
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : shape) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return (hash ^ (hash >> 32)) % 10 == 0;
}

}  // namespace tilecast
