#include "lab/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/import/import_table.h"
#include "measure/measurement_writer.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostReasonsToldApart = 1000;  // kept apart in a report

constexpr std::array<const KernelTables*, kSources> kKernelSources = {
    &kAiconfiguratorKernels, &kNeusightKernels,      &kSynperfKernels, &kAiterKernels,
    &kVidurKernels,          &kLlmservingsimKernels, &kMiopenKernels};

const KernelTables& kernels_of(Source source) { return *kKernelSources[static_cast<std::size_t>(source)]; }

}  // namespace

const Gpu* Cells::gpu(Column c) {
  const auto& found = gpus_.get(text(c), [&](std::string_view name) { return gpu_of(source_, name); });
  if (found) return &*found;
  leave_out(found.error().problem);
  return nullptr;
}

Format Cells::format(std::string_view name) {
  const auto& found = formats_.get(name, [&](std::string_view own) { return format_of(source_, own); });
  if (found) return *found;
  leave_out(found.error().problem);
  return {};
}

void Cells::fail(Column c, std::string problem) {
  fail(field_error(std::string(c.name), fmt::format("{}, not '{}'", problem, text(c)), "fix the row, or remove it"));
}

Result<ReadReport> import_table(CsvReader& csv, Cells& cells, const FillRow& fill, Names& names,
                                const ReadOptions& options, const Sink& sink) {
  if (cells.missing()) return *cells.missing();
  ReadReport report;
  Measurement row;
  row.file = names.intern(csv.path());
  while (true) {
    auto more = csv.next();
    if (!more) return std::move(more).error();
    if (!*more) return report;
    row.line = csv.line();
    std::string_view left_out;
    if (!csv.problem().empty()) cells.fail(error(csv.problem(), "fix the line, or remove it"));
    else left_out = fill(cells, row);
    std::optional<Error> failure = cells.take_failure();
    // An unknown name is checked first: the rest of such a row is not ours to judge.
    std::string why = cells.take_left_out();
    if (why.empty() && !failure) why = left_out;
    if (!why.empty()) {
      report.leave_out(report.left_out.size() < kMostReasonsToldApart ? why : "for other reasons", 1);
      continue;
    }
    if (!failure && !(row.latency > seconds(0) && row.latency < seconds(1e6)))
      failure = field_error("latency", fmt::format("must be positive, not {} us", in_microseconds(row.latency)),
                            "is the column in the unit that the source's mapping says?");
    if (!failure) {
      auto checked = check(row.kernel.shape);
      if (!checked) failure = std::move(checked).error();
    }
    if (failure) {
      if (auto counted = report_bad(report, options, (*std::move(failure)).at(csv.place())); !counted)
        return std::move(counted).error();
      continue;
    }
    ++report.rows;
    if (auto taken = sink(row); !taken) return std::move(taken).error();
  }
}

const SourceMapping& mapping_of(Source source) { return *kernels_of(source).mapping; }

std::string source_names() {
  std::string names;
  for (const KernelTables* source : kKernelSources)
    names += (names.empty() ? "" : ", ") + std::string(source->mapping->name);
  return names;
}

Result<Source> source_from(std::string_view name) {
  for (std::size_t i = 0; i < kKernelSources.size(); ++i)
    if (name_key(kKernelSources[i]->mapping->name) == name_key(name)) return static_cast<Source>(i);
  return error(fmt::format("unknown source {}", in_quotes(name)), "one of " + source_names());
}

Result<std::vector<std::string>> tables_of_sources(const std::string& folder, const std::vector<std::string>& sources) {
  std::vector<const KernelTables*> wanted;
  for (const std::string& name : sources) {
    const auto source = source_from(name);
    if (!source) return source.error();
    wanted.push_back(&kernels_of(*source));
  }
  if (sources.empty())
    for (const KernelTables* source : kKernelSources)
      if (source->by_default) wanted.push_back(source);
  std::vector<std::string> paths;
  for (const KernelTables* source : wanted) {
    auto own = files_of(*source->mapping, folder);
    if (!own) return own;
    paths.insert(paths.end(), own->begin(), own->end());
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

namespace {
Result<ReadReport> import_open(const KernelTables& source, CsvReader csv, Names& names, const ReadOptions& options,
                               const Sink& sink) {
  Cells cells(csv, *source.mapping);
  const FillRow fill = source.open(csv, cells, names);
  return import_table(csv, cells, fill, names, options, sink);
}
}  // namespace

Result<ReadReport> import_rows(Source source, const std::string& path, Names& names, const ReadOptions& options,
                               const Sink& sink) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  return import_open(kernels_of(source), *std::move(csv), names, options, sink);
}

Result<ReadReport> import_files(Source source, const std::vector<std::string>& paths, const std::string& out,
                                const ReadOptions& options) {
  auto writer = MeasurementWriter::create(out);
  if (!writer) return std::move(writer).error();
  Names names;
  ReadReport all;
  for (const std::string& path : paths) {
    // The limit is for all files together: what one uses up is not there for the next.
    ReadOptions rest = options;
    rest.most_bad = options.most_bad - all.bad;
    auto report = import_rows(source, path, names, rest, [&](const Measurement& row) { return writer->add(row); });
    if (!report) return std::move(report).error();
    all.add(*report);
  }
  if (all.rows == 0)
    return Error{paths.empty() ? out : paths.front(), "", "holds no row that can be imported",
                 all.left_out.empty() ? "is it the right file?" : "left out: " + all.left_out.begin()->first};
  if (auto finished = writer->finish(); !finished) return std::move(finished).error();
  return all;
}

Result<ReadReport> read_any(const std::string& path, Names& names, const ReadOptions& options, const Sink& sink) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  if (csv->find_column("latency_us") && csv->find_column("dims")) return read_measurements(path, names, options, sink);
  for (const KernelTables* source : kKernelSources)
    if (std::all_of(source->told_by.begin(), source->told_by.end(),
                    [&](std::string_view column) { return csv->find_column(column).has_value(); }))
      return import_open(*source, *std::move(csv), names, options, sink);
  // Most likely one of AIConfigurator's many forms: its reader names the column that is missing.
  return import_open(kAiconfiguratorKernels, *std::move(csv), names, options, sink);
}

}  // namespace tilecast
