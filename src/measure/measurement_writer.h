// Writes tables of our own form (measurement.h): whole or not at all.
#pragma once

#include <string>

#include "measure/measurement.h"
#include "support/file.h"

namespace tilecast {

class MeasurementWriter {
 public:
  // Compressed when the name ends in .gz; in place only after finish().
  static Result<MeasurementWriter> create(const std::string& path);

  Status add(const Measurement& row);
  Status finish() { return file_.finish(); }

 private:
  explicit MeasurementWriter(FileWriter file);

  FileWriter file_;
};

// The row as a line of the form, without its end.
void append_row(std::string& out, const Measurement& row);
std::string_view measurement_header();

// A shape's dimensions as one CSV field: quoted where a list of counts needs it.
void append_dims_field(std::string& out, const Shape& shape);

}  // namespace tilecast
