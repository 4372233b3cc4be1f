#include "measure/measurement_writer.h"

#include <fmt/format.h>

#include "measure/dims.h"
#include "support/append.h"
#include "support/csv.h"

namespace tilecast {

MeasurementWriter::MeasurementWriter(FileWriter file) : file_(std::move(file)) {
  file_.buffer() = measurement_header();
  file_.buffer() += '\n';
}

Result<MeasurementWriter> MeasurementWriter::create(const std::string& path) {
  auto file = FileWriter::create(path);
  if (!file) return std::move(file).error();
  return MeasurementWriter(*std::move(file));
}

Status MeasurementWriter::add(const Measurement& row) {
  append_row(file_.buffer(), row);
  file_.buffer() += '\n';
  if (!file_.full()) return Ok{};
  return file_.flush();
}

std::string_view measurement_header() {
  return "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us";
}

void append_dims_field(std::string& out, const Shape& shape) {
  const std::size_t before = out.size();
  append_dims(out, shape);
  if (out.find(',', before) == std::string::npos) return;
  const std::string dims = out.substr(before);  // a list of counts
  out.resize(before);
  append_csv(out, dims);
}

void append_row(std::string& out, const Measurement& row) {
  for (std::string_view name : {row.gpu, row.source, row.engine, row.engine_version, row.kernel_source}) {
    append_csv(out, name);
    out += ',';
  }
  out += family_of(row.kernel.shape);
  out += ',';
  out += row.kernel.format.name;
  out += ',';
  append_dims_field(out, row.kernel.shape);
  out += ',';
  out += name_of(row.context.runtime);
  out += ',';
  out += name_of(row.context.warmth);
  if (row.context.weight_copies > 1) append(out, ";weight-copies={}", row.context.weight_copies);
  if (row.context.activation_copies > 1) append(out, ";activation-copies={}", row.context.activation_copies);
  if (row.context.run == RunLength::sustained) out += ";run=sustained";
  // Nine digits keep a microsecond figure to a femtosecond: more than any timer.
  append(out, ",{:.9g}", in_microseconds(row.latency));
}

}  // namespace tilecast
