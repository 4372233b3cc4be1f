#include "lab/evaluate/predictions.h"

#include <fmt/format.h>

#include "measure/measurement_writer.h"
#include "support/append.h"
#include "support/csv.h"
#include "support/file.h"

namespace tilecast {
namespace {

constexpr std::string_view kHeader =
    "gpu,source,engine,kernel_source,family,dtype,dims,method,measured_us,forecast_us,low_us,high_us,bound_us,regime,"
    "seen\n";

void append_prediction(std::string& out, const Measurement& row, std::string_view method, const Outcome& outcome) {
  for (std::string_view name : {row.gpu, row.source, row.engine, row.kernel_source, family_of(row.kernel.shape),
                                std::string_view(row.kernel.format.name)}) {
    append_csv(out, name);
    out += ',';
  }
  append_dims_field(out, row.kernel.shape);
  out += ',';
  out += method;
  for (Seconds time : {row.latency, outcome.forecast, outcome.low, outcome.high, outcome.bound})
    append(out, ",{:.9g}", in_microseconds(time));
  append(out, ",{},{}\n", name_of(outcome.regime), outcome.seen ? 1 : 0);
}

}  // namespace

Status write_predictions(const std::string& path, const std::vector<Measurement>& rows,
                         const std::vector<MethodOutcomes>& methods) {
  auto file = FileWriter::create(path);
  if (!file) return std::move(file).error();
  file->buffer() = kHeader;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const MethodOutcomes& method : methods) {
      if (method.outcomes[i].failed) continue;  // a method that knows nothing of such rows
      append_prediction(file->buffer(), rows[i], method.name, method.outcomes[i]);
      if (!file->full()) continue;
      if (auto flushed = file->flush(); !flushed) return flushed;
    }
  return file->finish();
}

}  // namespace tilecast
