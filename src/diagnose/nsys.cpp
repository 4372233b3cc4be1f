// SQLite exports of Nsight Systems (`nsys export --type sqlite`): kernels, copies and the runtime's calls.
//
// Tables and columns as the user guide's "SQLite Schema Reference" has them (2024 to 2025); columns that older exports
// lack read as nothing. Names are numbers into StringIds.
#include <fmt/format.h>

#include <map>

#include "diagnose/recording.h"
#include "support/input.h"

#ifdef TILECAST_SQLITE
#include <sqlite3.h>

#include <filesystem>
#include <memory>

namespace tilecast {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct CloseStatement {
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

class Export {
 public:
  Export(std::string path, const Watch& watch) : path_(std::move(path)), watch_(watch) {}

  Status open() {
    const auto name = openable_path(path_);
    if (!name) return name.error();
    // SQLite follows links to names and opens its file again by those: a stream's copy has none.
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path_, ignored))
      return Error{path_, "", "is a database, which is not read from a stream", "write it to a file first"};
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(name->c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    db_.reset(raw);
    if (code != SQLITE_OK) return broken();
    // The file may be hostile: nothing in its schema may run, and damaged pages are refused.
    sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_exec(raw, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
    if (watch_) sqlite3_progress_handler(raw, kStepsBetween, &Export::must_end, this);
    return Ok{};
  }
  // Columns of a table; none where there is no such table (a view is not one: it could run forever).
  Result<std::map<std::string, bool>> columns(const std::string& table) {
    std::map<std::string, bool> found;
    auto is_table = prepare(fmt::format("SELECT 1 FROM sqlite_master WHERE type='table' AND name='{}'", table));
    if (!is_table) return std::move(is_table).error();
    const int there = sqlite3_step(is_table->get());
    if (there == SQLITE_DONE) return found;
    if (there != SQLITE_ROW) return broken().error();
    auto info = prepare(fmt::format("PRAGMA table_info('{}')", table));
    if (!info) return std::move(info).error();
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(info->get())) == SQLITE_ROW)
      if (const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(info->get(), 1))) found[name] = true;
    if (code != SQLITE_DONE) return broken().error();
    return found;
  }
  // Calls `row(statement)` for each row, with the columns in the order asked for; absent ones are NULL. False where
  // there is no such table.
  template <class Row>
  Result<bool> rows(const std::string& table, const std::vector<std::string>& wanted, Row&& row) {
    auto known = columns(table);
    if (!known) return std::move(known).error();
    if (known->empty()) return false;
    std::string query = "SELECT ";
    for (std::size_t i = 0; i < wanted.size(); ++i)
      query += (i ? ", " : "") + (known->contains(wanted[i]) ? "\"" + wanted[i] + "\"" : std::string("NULL"));
    auto statement = prepare(query + " FROM " + table);
    if (!statement) return std::move(statement).error();
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement->get())) == SQLITE_ROW) row(statement->get());
    if (code == SQLITE_INTERRUPT) return stopped();
    if (code != SQLITE_DONE) return broken().error();
    return true;
  }

  // Tables are read one after another; which share of the file each is, nobody says.
  void set_share(double share) { share_ = share; }

 private:
  static constexpr int kStepsBetween = 100'000;  // of SQLite's machine: some milliseconds
  static int must_end(void* self) {
    const auto* file = static_cast<const Export*>(self);
    return file->watch_.go_on(file->share_) ? 0 : 1;
  }
  Result<Statement> prepare(const std::string& query) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db_.get(), query.c_str(), -1, &raw, nullptr) != SQLITE_OK) return broken().error();
    return Statement(raw);
  }
  Status broken() const {
    return Error{path_, "", fmt::format("cannot be read as a database ({})", sqlite3_errmsg(db_.get())),
                 "export it again: nsys export --type sqlite report.nsys-rep"};
  }
  std::string path_;
  const Watch& watch_;
  double share_ = 0;
  Database db_;
};

std::int32_t small(sqlite3_stmt* s, int column) {
  return static_cast<std::int32_t>(std::clamp<sqlite3_int64>(sqlite3_column_int64(s, column), 0, 1 << 30));
}

// ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND, spelled as PyTorch's profiler spells copies.
std::string copy_name(int kind, int from, int to) {
  static const std::map<int, const char*> kinds = {{1, "HtoD"}, {2, "DtoH"}, {8, "DtoD"}, {9, "HtoH"}, {10, "PtoP"}};
  static const std::map<int, const char*> places = {
      {0, "Pageable"}, {1, "Pinned"}, {2, "Device"}, {3, "Array"}, {4, "Managed"}};
  const auto at = [](const std::map<int, const char*>& names, int key) {
    const auto found = names.find(key);
    return found == names.end() ? "Unknown" : found->second;
  };
  return fmt::format("Memcpy {} ({} -> {})", at(kinds, kind), at(places, from), at(places, to));
}

// start, end, device, stream, correlation: the first five columns of every table of GPU work.
const std::vector<std::string> kWhere = {"start", "end", "deviceId", "streamId", "correlationId"};

std::vector<std::string> with(std::vector<std::string> columns) {
  columns.insert(columns.begin(), kWhere.begin(), kWhere.end());
  return columns;
}

// Negative, which the builder refuses, where one of them is no time.
std::int64_t time_between(std::int64_t start, std::int64_t end) {
  return is_time(start) && is_time(end) ? end - start : -1;
}

WorkSeen seen_at(sqlite3_stmt* s) {
  WorkSeen seen;
  seen.start = sqlite3_column_int64(s, 0);
  seen.duration = time_between(*seen.start, sqlite3_column_int64(s, 1));
  seen.device = small(s, 2);
  seen.stream = small(s, 3);
  seen.correlation = static_cast<std::uint64_t>(sqlite3_column_int64(s, 4));
  return seen;
}

// One function a table; each says whether the table is there.
class Reader {
 public:
  Reader(Export& file, RecordingBuilder& builder) : file_(file), builder_(builder) {}

  Result<bool> names() {
    constexpr std::size_t kMostText = std::size_t{512} << 20;
    std::size_t text = 0;
    return file_.rows("StringIds", {"id", "value"}, [&](sqlite3_stmt* s) {
      const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(s, 1));
      text += static_cast<std::size_t>(sqlite3_column_bytes(s, 1)) + 64;
      if (value && text < kMostText) names_[sqlite3_column_int64(s, 0)] = value;
    });
  }
  Result<bool> kernels() {
    return file_.rows("CUPTI_ACTIVITY_KIND_KERNEL",
                      with({"demangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
                            "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"}),
                      [&](sqlite3_stmt* s) {
                        WorkSeen seen = seen_at(s);
                        seen.name = name_at(s, 5);
                        seen.launch.grid = {small(s, 6), small(s, 7), small(s, 8)};
                        seen.launch.block = {small(s, 9), small(s, 10), small(s, 11)};
                        seen.launch.registers = small(s, 12);
                        seen.launch.shared_bytes = small(s, 13) + small(s, 14);
                        builder_.work(seen);
                      });
  }
  Result<bool> copies() {
    return file_.rows("CUPTI_ACTIVITY_KIND_MEMCPY", with({"bytes", "copyKind", "srcKind", "dstKind"}),
                      [&](sqlite3_stmt* s) {
                        const std::string name = copy_name(small(s, 6), small(s, 7), small(s, 8));
                        moved(s, Activity::copy, name);
                      });
  }
  Result<bool> fills() {
    return file_.rows("CUPTI_ACTIVITY_KIND_MEMSET", with({"bytes"}),
                      [&](sqlite3_stmt* s) { moved(s, Activity::fill, "Memset (Device)"); });
  }
  Result<bool> calls() {
    return file_.rows("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "nameId", "correlationId"}, [&](sqlite3_stmt* s) {
      std::string_view name = name_at(s, 2);
      name = name.substr(0, name.find("_v"));  // "cudaLaunchKernel_v7000"
      const std::int64_t start = sqlite3_column_int64(s, 0);
      builder_.host_call(name, start, time_between(start, sqlite3_column_int64(s, 1)),
                         static_cast<std::uint64_t>(sqlite3_column_int64(s, 3)));
    });
  }
  Result<bool> cards() {
    return file_.rows("TARGET_INFO_GPU", {"name"}, [&](sqlite3_stmt* s) {
      if (const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(s, 0))) builder_.set_gpu(name);
    });
  }

 private:
  void moved(sqlite3_stmt* s, Activity activity, std::string_view name) {
    WorkSeen seen = seen_at(s);
    seen.activity = activity;
    seen.bytes = static_cast<double>(std::max<sqlite3_int64>(0, sqlite3_column_int64(s, 5)));
    seen.name = name;
    builder_.work(seen);
  }
  std::string_view name_at(sqlite3_stmt* s, int column) const {
    const auto found = names_.find(sqlite3_column_int64(s, column));
    return found == names_.end() ? std::string_view("(no name)") : std::string_view(found->second);
  }

  Export& file_;
  RecordingBuilder& builder_;
  std::unordered_map<std::int64_t, std::string> names_;
};

}  // namespace

Result<Recording> read_nsys(const std::string& path, const Watch& watch) {
  Export file(path, watch);
  if (auto opened = file.open(); !opened) return std::move(opened).error();
  RecordingBuilder builder(path, "Nsight Systems SQLite export");
  Reader reader(file, builder);
  bool work = false;
  double parts = 0;
  for (Result<bool> (Reader::*const part)() :
       {&Reader::names, &Reader::kernels, &Reader::copies, &Reader::fills, &Reader::calls, &Reader::cards}) {
    file.set_share(parts++ / 6);
    auto there = (reader.*part)();
    if (!there) return std::move(there).error();
    work |= *there && (part == &Reader::kernels || part == &Reader::copies);
  }
  if (!work)
    return Error{path, "CUPTI_ACTIVITY_KIND_KERNEL", "the database has no such table",
                 "record CUDA work (nsys profile --trace=cuda), then nsys export --type sqlite"};
  return std::move(builder).finish();
}

}  // namespace tilecast

#else

namespace tilecast {

Result<Recording> read_nsys(const std::string& path, const Watch&) {
  return Error{path, "", "is an SQLite database, and this program was built without SQLite",
               "nsys stats --report cuda_gpu_trace --format csv report.nsys-rep > trace.csv"};
}

}  // namespace tilecast

#endif
