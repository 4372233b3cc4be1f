// What the importers share: cells read by column name with one sticky error a row, and the loop over rows.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "gpu/registry.h"
#include "support/csv.h"
#include "measure/measurement.h"
#include "measure/remembered.h"

namespace tilecast {

struct Column {
  std::size_t at = 0;
  std::string_view name;  // static text
};

// Typed access to the current row. The first thing wrong is kept and everything after it reads as zero, so that a row
// maker reads straight through and its caller asks once.
class Cells {
 public:
  explicit Cells(const CsvReader& csv) : csv_(csv) {}

  // Looks a column up; a missing one is remembered as the table's error.
  Column column(std::string_view name) {
    auto found = csv_.column(name);
    if (!found && !missing_) missing_ = found.error();
    return {found ? *found : 0, name};
  }
  const std::optional<Error>& missing() const { return missing_; }

  std::string_view text(Column c) const { return csv_[c.at]; }
  Count count(Column c) {
    const auto value = to_count(text(c));
    if (!value || *value < 0) fail(c, "must be a whole number");
    return value.value_or(0);
  }
  double number(Column c) {
    const auto value = to_double(text(c));
    if (!value) fail(c, "must be a number");
    return value.value_or(0);
  }
  // Blank reads as `otherwise`; data frames write whole numbers with ".0" once a column has blanks.
  Count count_or(Column c, Count otherwise) {
    if (text(c).empty()) return otherwise;
    const auto value = to_double(text(c));
    if (!value || *value < 0 || *value > 1e15) return fail(c, "must be a whole number"), 0;
    return static_cast<Count>(*value);
  }

  // The GPU a name of the table means, by the aliases in data/gpus; the format a dtype means. Valid until the next
  // call.
  const Gpu* gpu(Column c);
  Format format(std::string_view name);

  void fail(Error problem) {
    if (!failure_) failure_ = std::move(problem);
  }
  std::optional<Error> take_failure() { return std::exchange(failure_, std::nullopt); }

 private:
  void fail(Column c, std::string problem);

  const CsvReader& csv_;
  std::optional<Error> missing_, failure_;
  Remembered<Gpu> gpus_;
  Remembered<Format> formats_;
};

// Fills a row from the cells. Returns why the row is left out though nothing is wrong with it, or nothing to keep it.
using FillRow = std::function<std::string_view(Cells&, Measurement&)>;

// The last step of a row maker: the row is kept, with this shape.
template <class S>
std::string_view keep(Measurement& row, S shape) {
  row.kernel.shape = std::move(shape);
  return {};
}

// The loop over a table's rows: counts, reports, hands on.
Result<ReadReport> import_table(CsvReader& csv, Cells& cells, const FillRow& fill, Names& names,
                                const ReadOptions& options, const Sink& sink);

// One importer a source.
Result<ReadReport> import_aiconfigurator(CsvReader csv, Names& names, const ReadOptions& options, const Sink& sink);
Result<ReadReport> import_neusight(CsvReader csv, Names& names, const ReadOptions& options, const Sink& sink);
Result<ReadReport> import_synperf(CsvReader csv, Names& names, const ReadOptions& options, const Sink& sink);

}  // namespace tilecast
