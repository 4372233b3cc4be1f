#include "lab/import/import.h"

#include <fmt/format.h>

#include "lab/import/import_table.h"
#include "measure/measurement_writer.h"
#include "support/text.h"

namespace tilecast {

const Gpu* Cells::gpu(Column c) {
  const auto& found = gpus_.get(text(c), find_gpu);
  if (!found) {
    fail(found.error());
    return nullptr;
  }
  return &*found;
}

Format Cells::format(std::string_view name) {
  const auto& found = formats_.get(name, format_from);
  if (!found) {
    fail(found.error());
    return {};
  }
  return *found;
}

void Cells::fail(Column c, std::string problem) {
  fail(field_error(std::string(c.name), fmt::format("{}, not '{}'", problem, text(c))));
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
    if (!csv.problem().empty()) cells.fail(error(csv.problem()));
    else left_out = fill(cells, row);
    std::optional<Error> failure = cells.take_failure();
    if (!failure && !left_out.empty()) {
      report.leave_out(left_out, 1);
      continue;
    }
    if (!failure && !(row.latency > seconds(0) && row.latency < seconds(1e6)))
      failure = field_error("latency", fmt::format("must be positive, not {} us", in_microseconds(row.latency)));
    if (!failure) {
      auto checked = std::visit([](const auto& shape) { return shape.check(); }, row.kernel.shape);
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

Result<Source> source_from(std::string_view name) {
  for (std::size_t i = 0; i < kSourceNames.size(); ++i)
    if (name_key(kSourceNames[i]) == name_key(name)) return static_cast<Source>(i);
  return error(fmt::format("unknown source '{}'", name), "one of aiconfigurator, neusight, synperf");
}

namespace {
Result<ReadReport> import_open(Source source, CsvReader csv, Names& names, const ReadOptions& options,
                               const Sink& sink) {
  switch (source) {
    case Source::aiconfigurator: return import_aiconfigurator(std::move(csv), names, options, sink);
    case Source::neusight: return import_neusight(std::move(csv), names, options, sink);
    case Source::synperf: return import_synperf(std::move(csv), names, options, sink);
  }
  return error("unknown source");
}
}  // namespace

Result<ReadReport> import_rows(Source source, const std::string& path, Names& names, const ReadOptions& options,
                               const Sink& sink) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  return import_open(source, *std::move(csv), names, options, sink);
}

Result<ReadReport> import_files(Source source, const std::vector<std::string>& paths, const std::string& out,
                                const ReadOptions& options) {
  auto writer = MeasurementWriter::create(out);
  if (!writer) return std::move(writer).error();
  Names names;
  ReadReport all;
  for (const std::string& path : paths) {
    // The limit counts over all files: what one has used the next has not.
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
  if (csv->find_column("latency_ms") && csv->find_column("device"))
    return import_open(Source::neusight, *std::move(csv), names, options, sink);
  if (csv->find_column("avg_duration")) return import_open(Source::synperf, *std::move(csv), names, options, sink);
  return import_open(Source::aiconfigurator, *std::move(csv), names, options, sink);
}

}  // namespace tilecast
