#include "measure/measurement.h"

#include <fmt/format.h>

#include <optional>

#include "gpu/registry.h"
#include "measure/dims.h"
#include "measure/remembered.h"
#include "support/csv.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::string_view kSustained = "run=sustained";
constexpr std::string_view kWeightCopies = "weight-copies=", kActivationCopies = "activation-copies=";

Status read_copies(std::string_view text, int& copies) {
  const auto count = to_count(text);
  if (!count || *count < 1 || *count > 1000)
    return field_error("warmth", fmt::format("copies must be 1 to 1000, not '{}'", text));
  copies = static_cast<int>(*count);
  return Ok{};
}

Result<Context> read_context(std::string_view runtime, std::string_view warmth) {
  Context context;
  if (runtime == "graph") context.runtime = Runtime::graph;
  else if (runtime == "eager") context.runtime = Runtime::eager;
  else return field_error("runtime", fmt::format("must be graph or eager, not '{}'", runtime));
  const auto end = std::min(warmth.find(';'), warmth.size());
  const std::string_view kind = warmth.substr(0, end);
  if (kind == "model") context.warmth = Warmth::model;
  else if (kind == "warm") context.warmth = Warmth::warm;
  else if (kind == "cold") context.warmth = Warmth::cold;
  else return field_error("warmth", fmt::format("must be model, warm or cold, not '{}'", kind));
  if (end == warmth.size()) return context;
  for (const std::string& part : split(warmth.substr(end + 1), ';')) {
    const std::string_view item = part;
    Status read = field_error("warmth", fmt::format("unknown part '{}'", item));
    if (item.starts_with(kWeightCopies)) read = read_copies(item.substr(kWeightCopies.size()), context.weight_copies);
    if (item.starts_with(kActivationCopies))
      read = read_copies(item.substr(kActivationCopies.size()), context.activation_copies);
    if (item == kSustained) context.run = RunLength::sustained, read = Ok{};
    if (!read) return std::move(read).error();
  }
  return context;
}

Status read_run(std::string_view run, Context& context) {
  if (run == "sustained") context.run = RunLength::sustained;
  else if (!run.empty() && run != "burst")
    return field_error("run", fmt::format("must be burst or sustained, not '{}'", run));
  return Ok{};
}

struct Columns {
  std::size_t gpu, source, engine, engine_version, kernel_source, family, dtype, dims, runtime, warmth, latency;
  std::optional<std::size_t> run;
};

Result<Columns> find_columns(const CsvReader& csv) {
  Columns at{};
  const std::pair<const char*, std::size_t*> wanted[] = {{"gpu", &at.gpu},
                                                         {"source", &at.source},
                                                         {"engine", &at.engine},
                                                         {"engine_version", &at.engine_version},
                                                         {"kernel_source", &at.kernel_source},
                                                         {"family", &at.family},
                                                         {"dtype", &at.dtype},
                                                         {"dims", &at.dims},
                                                         {"runtime", &at.runtime},
                                                         {"warmth", &at.warmth},
                                                         {"latency_us", &at.latency}};
  for (const auto& [name, position] : wanted) {
    auto found = csv.column(name);
    if (!found) return std::move(found).error();
    *position = *found;
  }
  at.run = csv.find_column("run");
  return at;
}

class RowReader {
 public:
  RowReader(const CsvReader& csv, const Columns& at, Names& names) : csv_(csv), at_(at), names_(names) {}

  Status read(Measurement& row) {
    if (!csv_.problem().empty()) return error(csv_.problem());
    const auto& gpu = gpus_.get(csv_[at_.gpu], [](std::string_view name) -> Result<std::string> {
      auto found = find_gpu(name);
      if (!found) return std::move(found).error();
      return found->name;
    });
    if (!gpu) return gpu.error();
    row.gpu = names_.intern(*gpu);
    row.source = names_.intern(csv_[at_.source]);
    row.engine = names_.intern(csv_[at_.engine]);
    row.engine_version = names_.intern(csv_[at_.engine_version]);
    row.kernel_source = names_.intern(csv_[at_.kernel_source]);
    const auto& format = formats_.get(csv_[at_.dtype], format_from);
    if (!format) return format.error();
    row.kernel.format = *format;
    auto shape = read_dims(csv_[at_.family], csv_[at_.dims]);
    if (!shape) return std::move(shape).error();
    row.kernel.shape = *std::move(shape);
    auto context = read_context(csv_[at_.runtime], csv_[at_.warmth]);
    if (!context) return std::move(context).error();
    if (at_.run)
      if (auto read = read_run(csv_[*at_.run], *context); !read) return read;
    row.context = *context;
    row.context.engine = Launcher::named(row.engine);
    row.context.kernel_source = sources_.get(row.kernel_source);
    const auto latency = to_double(csv_[at_.latency]);
    if (!latency || !(*latency > 0) || !(*latency < 1e12))
      return field_error("latency_us", fmt::format("must be a positive number, not '{}'", csv_[at_.latency]));
    row.latency = microseconds(*latency);
    row.line = csv_.line();
    return Ok{};
  }

 private:
  const CsvReader& csv_;
  Columns at_;
  Names& names_;
  Remembered<std::string> gpus_;
  Remembered<Format> formats_;
  RememberedSource sources_;
};

}  // namespace

std::string Measurement::place() const { return fmt::format("{}:{}", file, line); }

Context Measurement::whole_context() const {
  Context whole = context;
  if (whole.engine.text() != engine) whole.engine = Launcher::named(engine);
  if (whole.kernel_source.text() != kernel_source) whole.kernel_source = KernelSource::named(kernel_source);
  if (whole.engine == Launcher::pytorch) whole.torch = torch_release(engine_version);
  // NeuSight's tables hold the name a profiler read off the launch: who asks for a forecast does not know it.
  if (source.starts_with("neusight")) whole.kernel_source = {};
  return whole;
}

void ReadReport::leave_out(std::string_view reason, Count rows_left) {
  for (auto& [known, count] : left_out)
    if (known == reason) return void(count += rows_left);
  left_out.emplace_back(reason, rows_left);
}

void ReadReport::add(const ReadReport& other) {
  rows += other.rows;
  bad += other.bad;
  problems.insert(problems.end(), other.problems.begin(), other.problems.end());
  for (const auto& [reason, count] : other.left_out) leave_out(reason, count);
}

Status report_bad(ReadReport& report, const ReadOptions& options, Error problem) {
  ++report.bad;
  if (report.bad <= options.most_reported) report.problems.push_back(problem.line());
  if (report.bad > options.most_bad) {
    problem.problem += fmt::format("; more than {} bad rows", options.most_bad);
    if (problem.remedy.empty()) problem.remedy = "raise the limit of bad rows to skip them";
    return problem;
  }
  return Ok{};
}

Result<ReadReport> read_measurements(const std::string& path, Names& names, const ReadOptions& options,
                                     const Sink& sink) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  auto at = find_columns(*csv);
  if (!at) return std::move(at).error();
  RowReader rows(*csv, *at, names);
  ReadReport report;
  Measurement row;
  row.file = names.intern(path);
  while (true) {
    auto more = csv->next();
    if (!more) return std::move(more).error();
    if (!*more) return report;
    if (auto read = rows.read(row); !read) {
      if (auto counted = report_bad(report, options, std::move(read).error().at(csv->place())); !counted)
        return std::move(counted).error();
      continue;
    }
    ++report.rows;
    if (auto taken = sink(row); !taken) return std::move(taken).error();
  }
}

}  // namespace tilecast
