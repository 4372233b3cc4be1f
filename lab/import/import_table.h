// What the importers share: cells read by column name with one sticky error per row, and the loop over rows.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "lab/import/source_mapping.h"
#include "measure/measurement.h"
#include "measure/remembered.h"
#include "support/csv.h"

namespace tilecast {

constexpr Count kMostCount = 1'000'000'000;  // of a side: products of two are still numbers

struct Column {
  std::size_t at = 0;
  std::string_view name;  // static text
};

// Typed access to the current row. The first thing wrong is kept and everything after it reads as zero, so that a row
// maker reads straight through and its caller asks once. A name that the source's mapping does not know is not an
// error: the row is left out.
class Cells {
 public:
  Cells(const CsvReader& csv, const SourceMapping& source) : csv_(csv), source_(source) {}
  const SourceMapping& source() const { return source_; }

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
    if (!value || *value < 0) return fail(c, "must be a whole number"), 0;
    if (*value > kMostCount) return fail(c, "must be at most a thousand million"), 0;
    return *value;
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

  // What a name of the table means by the mapping: its GPU, valid until the next call and null where it is unknown; its
  // format.
  const Gpu* gpu(Column c);
  Format format(std::string_view name);
  // The context that the source's protocol implies.
  Context context(std::string_view engine, std::string_view kernel_source) {
    return {source_.protocol.runtime, source_.protocol.warmth,    1, 1,
            Launcher::named(engine),  sources_.get(kernel_source)};
  }

  void fail(Error problem) {
    if (!failure_) failure_ = std::move(problem);
  }
  std::optional<Error> take_failure() { return std::exchange(failure_, std::nullopt); }
  void leave_out(std::string why) {
    if (left_out_.empty()) left_out_ = std::move(why);
  }
  std::string take_left_out() { return std::exchange(left_out_, {}); }

 private:
  void fail(Column c, std::string problem);

  const CsvReader& csv_;
  const SourceMapping& source_;
  std::optional<Error> missing_, failure_;
  std::string left_out_;
  Remembered<Gpu> gpus_;
  Remembered<Format> formats_;
  RememberedSource sources_;
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

// A row maker that leaves every row out, for tables of a source that hold no kernels.
inline FillRow every_row_left_out(std::string_view reason) {
  return [reason](Cells&, Measurement&) { return reason; };
}

// A source of kernels: its mapping, the columns that tell its tables from others', and the row maker of a table. A
// missing column is remembered by the cells.
struct KernelTables {
  const SourceMapping* mapping;
  std::span<const std::string_view> told_by;
  FillRow (*open)(const CsvReader& csv, Cells& cells, Names& names);
  bool by_default = false;  // read from a folder of measured data when no sources are named
};

extern const KernelTables kAiconfiguratorKernels, kNeusightKernels, kSynperfKernels, kAiterKernels, kVidurKernels,
    kLlmservingsimKernels, kMiopenKernels;

}  // namespace tilecast
