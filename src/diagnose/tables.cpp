// CSV tables of kernels: `nsys stats` (cuda_gpu_trace, cuda_gpu_kern_sum), Nsight Compute (--csv, pages raw and
// details), and our own (name, duration_us, ...). Told apart by their columns.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "diagnose/recording.h"
#include "support/counted.h"
#include "support/csv.h"
#include "support/text.h"

namespace tilecast {
namespace {

// "1,024.5" as Nsight Compute writes it.
std::optional<double> number(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (c != ',' && c != ' ') plain += c;
  auto value = to_double(plain);
  return value && std::isfinite(*value) && std::abs(*value) < 1e18 ? value : std::nullopt;
}

// Nanoseconds of one unit, by the names both tools use.
double nanoseconds_per(std::string_view unit) {
  if (unit == "us" || unit == "usecond" || unit == "µs") return 1e3;
  if (unit == "ms" || unit == "msecond") return 1e6;
  if (unit == "s" || unit == "sec" || unit == "second") return 1e9;
  return 1;  // ns, nsecond
}
double bytes_per(std::string_view unit) {
  if (unit == "KB" || unit == "Kbyte") return 1e3;
  if (unit == "KiB") return 1024;
  if (unit == "MB" || unit == "Mbyte") return 1e6;
  if (unit == "MiB") return 1024.0 * 1024;
  if (unit == "GB" || unit == "Gbyte") return 1e9;
  return 1;
}

std::int64_t nanoseconds_in(double value) { return std::llround(std::clamp(value, -2e18, 2e18)); }

// A column whose title ends in its unit: "Duration (ns)".
struct UnitColumn {
  std::optional<std::size_t> at;
  std::string unit;
};
UnitColumn unit_column(const CsvReader& table, std::string_view title) {
  for (std::size_t i = 0; i < table.header().size(); ++i) {
    const std::string& name = table.header()[i];
    if (!name.starts_with(title) || !name.ends_with(")")) continue;
    std::size_t open = title.size();
    while (open < name.size() && name[open] == ' ') ++open;
    if (open < name.size() && name[open] == '(') return {i, name.substr(open + 1, name.size() - open - 2)};
  }
  return {};
}

std::string_view field(const CsvReader& table, std::optional<std::size_t> at) {
  return at ? table[*at] : std::string_view();
}

std::int32_t small(std::string_view text) {
  return static_cast<std::int32_t>(std::clamp(number(text).value_or(0), 0.0, 1e9));
}

// "(1024, 2, 1)", "1024x2x1" or "1024".
std::array<std::int32_t, 3> written_triple(std::string_view text) {
  std::array<std::int32_t, 3> found{};
  std::size_t i = 0;
  for (std::size_t at = 0; at < text.size() && i < 3;) {
    const auto digit = text.find_first_of("0123456789", at);
    if (digit == std::string_view::npos) break;
    const auto read = std::from_chars(text.data() + digit, text.data() + text.size(), found[i]);
    if (read.ec == std::errc{}) ++i;
    at = static_cast<std::size_t>(read.ptr - text.data());
  }
  for (std::size_t rest = i; i > 0 && rest < 3; ++rest) found[rest] = 1;
  return found;
}

bool is_ncu(std::string_view line) { return contains(line, "Kernel Name") && contains(line, "ID"); }
bool is_nsys(std::string_view line) {
  return contains(line, "Name") && (contains(line, "Duration (") || contains(line, "Total Time"));
}
bool is_ours(std::string_view line) { return contains(line, "name") && contains(line, "duration_us"); }
bool is_header(std::string_view line) {
  return contains(line, ",") && (is_ncu(line) || is_nsys(line) || is_ours(line));
}

// Rows that cannot be used are counted, not guessed; a table of nothing else is refused by its first.
struct BadRows {
  Count rows = 0;
  std::string first;
  void add(const CsvReader& table, std::string_view why) {
    if (rows++ == 0) first = table.place() + ": " + std::string(why);
  }
};

Result<Recording> finish(RecordingBuilder builder, const BadRows& bad) {
  if (bad.rows > 0 && builder.works() == 0) return error(bad.first, "no row of the table can be used");
  if (bad.rows > 0)
    builder.note(fmt::format("{} left out; the first: {}", counted(bad.rows, "row was", "rows were"), bad.first));
  return std::move(builder).finish();
}

// "[CUDA memcpy HtoD]", "[CUDA memcpy Host-to-Device]" and "[CUDA memset]" as PyTorch's profiler spells them.
std::string work_name(std::string_view name, std::string_view from, std::string_view to, Activity& activity) {
  if (name.starts_with("[CUDA memset")) return activity = Activity::fill, "Memset (Device)";
  if (!name.starts_with("[CUDA memcpy")) return std::string(name);
  activity = Activity::copy;
  const char* kind = contains(name, "HtoD") || contains(name, "Host-to-Dev")   ? "HtoD"
                     : contains(name, "DtoH") || contains(name, "Device-to-H") ? "DtoH"
                     : contains(name, "DtoD") || contains(name, "Device-to-D") ? "DtoD"
                                                                               : "PtoP";
  if (from.empty() || to.empty()) return fmt::format("Memcpy {}", kind);
  return fmt::format("Memcpy {} ({} -> {})", kind, from, to);
}

Result<Recording> read_nsys_trace(CsvReader& table, const UnitColumn& start, const UnitColumn& duration) {
  RecordingBuilder builder(table.path(), "nsys stats cuda_gpu_trace");
  const auto name = table.column("Name");
  if (!name) return name.error();
  const std::array<const char*, 6> axes = {"GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ"};
  std::array<std::optional<std::size_t>, 6> at;
  for (std::size_t i = 0; i < 6; ++i) at[i] = table.find_column(axes[i]);
  const auto registers = table.find_column("Reg/Trd"), stream = table.find_column("Strm"),
             device = table.find_column("Device"), correlation = table.find_column("CorrId"),
             from = table.find_column("SrcMemKd"), to = table.find_column("DstMemKd");
  const UnitColumn fixed = unit_column(table, "StcSMem"), dynamic = unit_column(table, "DymSMem"),
                   moved = unit_column(table, "Bytes");
  BadRows bad;
  std::map<std::string, Count, std::less<>> devices;
  while (true) {
    auto more = table.next();
    if (!more) return std::move(more).error();
    if (!*more) break;
    const auto begins = number(field(table, start.at)), lasts = number(field(table, duration.at));
    if (!table.problem().empty() || !begins || !lasts) {
      bad.add(table, table.problem().empty() ? "no time" : table.problem());
      continue;
    }
    WorkSeen seen;
    const std::string called = work_name(table[*name], field(table, from), field(table, to), seen.activity);
    seen.name = called;
    for (std::size_t i = 0; i < 3; ++i) {
      seen.launch.grid[i] = small(field(table, at[i]));
      seen.launch.block[i] = small(field(table, at[i + 3]));
    }
    seen.launch.registers = small(field(table, registers));
    const auto amount = [&](const UnitColumn& column) {
      return number(field(table, column.at)).value_or(0) * bytes_per(column.unit);
    };
    seen.launch.shared_bytes = static_cast<std::int32_t>(std::clamp(amount(fixed) + amount(dynamic), 0.0, 1e9));
    seen.bytes = std::clamp(amount(moved), 0.0, 1e15);
    seen.start = nanoseconds_in(*begins * nanoseconds_per(start.unit));
    seen.duration = nanoseconds_in(*lasts * nanoseconds_per(duration.unit));
    seen.stream = small(field(table, stream));
    seen.correlation = static_cast<std::uint64_t>(small(field(table, correlation)));
    // "NVIDIA H200 (0)"
    std::string_view card = field(table, device);
    const auto open = card.rfind(" (");
    if (open != std::string_view::npos && devices.empty()) builder.set_gpu(std::string(card.substr(0, open)));
    if (devices.size() < 1024) seen.device = devices.emplace(card, devices.size()).first->second;
    builder.work(seen);
  }
  return finish(std::move(builder), bad);
}

Result<Recording> read_nsys_sums(CsvReader& table, const UnitColumn& total) {
  RecordingBuilder builder(table.path(), "nsys stats cuda_gpu_kern_sum");
  auto name = table.find_column("Name");
  if (!name) name = table.find_column("Operation");  // cuda_gpu_mem_time_sum
  auto count = table.find_column("Instances");
  if (!count) count = table.find_column("Count");
  const UnitColumn least = unit_column(table, "Min");
  if (!name || !count)
    return Error{table.path(), "Instances", "the table has no such column",
                 "write it with `nsys stats --report cuda_gpu_kern_sum --format csv`"};
  BadRows bad;
  while (true) {
    auto more = table.next();
    if (!more) return std::move(more).error();
    if (!*more) break;
    const auto time = number(field(table, total.at)), times = number(field(table, count));
    if (!table.problem().empty() || !time || !times || *times < 1) {
      bad.add(table, table.problem().empty() ? "no time or count" : table.problem());
      continue;
    }
    WorkSeen seen;
    const std::string called = work_name(table[*name], {}, {}, seen.activity);
    seen.name = called;
    seen.count = static_cast<Count>(*times);
    seen.duration = nanoseconds_in(*time * nanoseconds_per(total.unit));
    seen.fastest = nanoseconds_in(number(field(table, least.at)).value_or(0) * nanoseconds_per(least.unit));
    builder.work(seen);
  }
  return finish(std::move(builder), bad);
}

// What we ask of Nsight Compute: its raw names, and those of its details page.
struct Metric {
  std::string_view raw, details;
  void (*keep)(WorkSeen&, double value, std::string_view unit);
};
const Metric kMetrics[] = {
    {"gpu__time_duration.sum", "Duration",
     [](WorkSeen& s, double v, std::string_view unit) { s.duration = nanoseconds_in(v * nanoseconds_per(unit)); }},
    {"launch__registers_per_thread", "Registers Per Thread",
     [](WorkSeen& s, double v, std::string_view) {
       s.launch.registers = static_cast<std::int32_t>(std::clamp(v, 0.0, 1e4));
     }},
    {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "Memory Throughput",
     [](WorkSeen& s, double v, std::string_view unit) {
       if (unit == "%") s.counters->memory_share = std::clamp(v / 100, 0.0, 1.0);  // byte/s elsewhere on that page
     }},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "Compute (SM) Throughput",
     [](WorkSeen& s, double v, std::string_view) { s.counters->compute_share = std::clamp(v / 100, 0.0, 1.0); }},
    {"dram__bytes_read.sum", "",
     [](WorkSeen& s, double v, std::string_view unit) {
       s.counters->dram += bytes(std::clamp(v * bytes_per(unit), 0.0, 1e15));
     }},
    {"dram__bytes_write.sum", "",
     [](WorkSeen& s, double v, std::string_view unit) {
       s.counters->dram += bytes(std::clamp(v * bytes_per(unit), 0.0, 1e15));
     }},
};

WorkSeen ncu_row(const CsvReader& table, std::size_t name) {
  WorkSeen seen;
  seen.name = table[name];
  seen.launch.grid = written_triple(field(table, table.find_column("Grid Size")));
  seen.launch.block = written_triple(field(table, table.find_column("Block Size")));
  seen.counters.emplace();
  return seen;
}

// One row a kernel; the second line holds the units.
Result<Recording> read_ncu_raw(CsvReader& table) {
  RecordingBuilder builder(table.path(), "Nsight Compute CSV (raw)");
  const auto name = table.column("Kernel Name");
  const auto time = table.column("gpu__time_duration.sum");
  if (!name) return name.error();
  if (!time)
    return Error{table.path(), "gpu__time_duration.sum", "the table has no such column",
                 "record it: ncu --set full, or --metrics gpu__time_duration.sum"};
  const auto device = table.find_column("device__attribute_display_name");
  std::vector<std::string> units(table.header().size());
  BadRows bad;
  while (true) {
    auto more = table.next();
    if (!more) return std::move(more).error();
    if (!*more) break;
    if (!table.problem().empty()) {
      bad.add(table, table.problem());
      continue;
    }
    if (table[*name].empty()) {
      for (std::size_t i = 0; i < units.size(); ++i) units[i] = table[i];
      continue;
    }
    WorkSeen seen = ncu_row(table, *name);
    for (const Metric& metric : kMetrics) {
      const auto at = table.find_column(metric.raw);
      if (const auto value = number(field(table, at)); at && value) metric.keep(seen, *value, units[*at]);
    }
    if (device) builder.set_gpu(std::string(table[*device]));
    if (seen.duration > 0) builder.work(seen);
    else bad.add(table, "no duration");
  }
  return finish(std::move(builder), bad);
}

// One row a kernel and metric; rows of a kernel share their ID.
Result<Recording> read_ncu_details(CsvReader& table) {
  RecordingBuilder builder(table.path(), "Nsight Compute CSV (details)");
  const auto name = table.column("Kernel Name"), id = table.column("ID"), metric = table.column("Metric Name"),
             value = table.column("Metric Value");
  for (const auto* column : {&name, &id, &metric, &value})
    if (!*column) return column->error();
  const auto unit = table.find_column("Metric Unit");
  BadRows bad;
  std::string current, called;
  std::optional<WorkSeen> seen;
  const auto flush = [&] {
    if (!seen) return;
    seen->name = called;
    if (seen->duration > 0) builder.work(*seen);
    else bad.add(table, "no duration of the kernel before");
  };
  while (true) {
    auto more = table.next();
    if (!more) return std::move(more).error();
    if (!*more) break;
    if (!table.problem().empty() && !table.cut_short()) {  // rows without a rule end early
      bad.add(table, table.problem());
      continue;
    }
    if (!seen || table[*id] != current) {
      flush();
      current = table[*id];
      called = table[*name];
      seen = ncu_row(table, *name);
    }
    for (const Metric& wanted : kMetrics)
      if (table[*metric] == wanted.raw || (!wanted.details.empty() && table[*metric] == wanted.details))
        if (const auto v = number(table[*value])) wanted.keep(*seen, *v, field(table, unit));
  }
  flush();
  return finish(std::move(builder), bad);
}

// Ours: name and duration_us; start_us, stream, device, grid, block, registers, shared_bytes, count (duration_us is
// then the mean) and shape ("gemm bf16 m=512;n=6144;k=4096") where known.
Result<Recording> read_ours(CsvReader& table) {
  RecordingBuilder builder(table.path(), "table of kernels");
  const auto name = table.column("name"), duration = table.column("duration_us");
  if (!name) return name.error();
  if (!duration) return duration.error();
  const auto start = table.find_column("start_us"), stream = table.find_column("stream"),
             device = table.find_column("device"), grid = table.find_column("grid"), block = table.find_column("block"),
             registers = table.find_column("registers"), shared = table.find_column("shared_bytes"),
             count = table.find_column("count"), shape = table.find_column("shape"), gpu = table.find_column("gpu");
  BadRows bad;
  while (true) {
    auto more = table.next();
    if (!more) return std::move(more).error();
    if (!*more) break;
    const auto lasts = number(table[*duration]);
    if (!table.problem().empty() || !lasts || !(*lasts >= 0) || *lasts > 1e12) {
      bad.add(table, table.problem().empty() ? "duration_us: must be a time" : table.problem());
      continue;
    }
    WorkSeen seen;
    seen.name = table[*name];
    if (seen.name.starts_with("Memcpy")) seen.activity = Activity::copy;
    if (seen.name.starts_with("Memset")) seen.activity = Activity::fill;
    seen.count = std::max<Count>(1, small(field(table, count)));
    seen.fastest = nanoseconds_in(*lasts * 1e3);
    seen.duration = nanoseconds_in(*lasts * 1e3 * static_cast<double>(seen.count));
    if (const auto begins = number(field(table, start))) seen.start = nanoseconds_in(*begins * 1e3);
    seen.stream = small(field(table, stream));
    seen.device = small(field(table, device));
    seen.launch.grid = written_triple(field(table, grid));
    seen.launch.block = written_triple(field(table, block));
    seen.launch.registers = small(field(table, registers));
    seen.launch.shared_bytes = small(field(table, shared));
    seen.shape = field(table, shape);
    if (gpu) builder.set_gpu(std::string(table[*gpu]));
    builder.work(seen);
  }
  return finish(std::move(builder), bad);
}

}  // namespace

Result<Recording> read_tables(const std::string& path, const Watch& watch) {
  auto table = CsvReader::open(path, is_header, watch);
  if (!table) {
    if (table.error().problem != "is empty") return std::move(table).error();
    return Error{path, "", "is not a trace in a known format",
                 "a PyTorch profiler trace (.json, .json.gz), an nsys SQLite export, CSV of nsys stats or ncu, or a "
                 "table with columns name and duration_us"};
  }
  if (table->find_column("Metric Name") && table->find_column("Kernel Name")) return read_ncu_details(*table);
  if (table->find_column("Kernel Name")) return read_ncu_raw(*table);
  const UnitColumn start = unit_column(*table, "Start"), duration = unit_column(*table, "Duration"),
                   total = unit_column(*table, "Total Time");
  if (start.at && duration.at) return read_nsys_trace(*table, start, duration);
  if (total.at) return read_nsys_sums(*table, total);
  return read_ours(*table);
}

}  // namespace tilecast
