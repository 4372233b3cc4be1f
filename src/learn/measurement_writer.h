// Writes tables of our own form (measurement.h): whole or not at all.
#pragma once

#include <memory>
#include <string>

#include "learn/measurement.h"

namespace tilecast {

class MeasurementWriter {
 public:
  // Compressed when the name ends in .gz. Rows go to a temporary file beside it; only finish() puts it in place, and
  // a writer that is destroyed unfinished removes it.
  static Result<MeasurementWriter> create(const std::string& path);
  MeasurementWriter(MeasurementWriter&&) noexcept;
  MeasurementWriter& operator=(MeasurementWriter&&) noexcept;
  ~MeasurementWriter();

  Status add(const Measurement& row);
  Status finish();

 private:
  struct File;
  explicit MeasurementWriter(std::unique_ptr<File> file);
  Status flush();

  std::unique_ptr<File> file_;
  std::string buffer_;
};

// The row as a line of the form, without its end.
void append_row(std::string& out, const Measurement& row);
std::string_view measurement_header();

}  // namespace tilecast
