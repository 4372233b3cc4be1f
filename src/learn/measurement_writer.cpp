#include "learn/measurement_writer.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <iterator>

#include "learn/csv.h"
#include "learn/dims.h"

namespace tilecast {
namespace {

constexpr std::size_t kBlock = 1 << 18;
// Fast compression: tables of millions of rows are written often and read once or twice.
constexpr const char* kCompressed = "wb1";
constexpr const char* kPlain = "wbT";  // zlib's "transparent": no compression, the same calls

}  // namespace

struct MeasurementWriter::File {
  std::string path, temporary;
  gzFile handle = nullptr;

  Error failure(std::string what) const {
    return Error{path, "", std::move(what), "check the folder and the disk's space"};
  }
  ~File() {
    if (handle) gzclose_w(handle);
    if (!temporary.empty()) std::remove(temporary.c_str());
  }
};

MeasurementWriter::MeasurementWriter(std::unique_ptr<File> file) : file_(std::move(file)) {
  buffer_ = measurement_header();
  buffer_ += '\n';
}
MeasurementWriter::MeasurementWriter(MeasurementWriter&&) noexcept = default;
MeasurementWriter& MeasurementWriter::operator=(MeasurementWriter&&) noexcept = default;
MeasurementWriter::~MeasurementWriter() = default;

Result<MeasurementWriter> MeasurementWriter::create(const std::string& path) {
  auto file = std::make_unique<File>();
  file->path = path;
  const std::string temporary = fmt::format("{}.{}.part", path, getpid());
  file->handle = gzopen(temporary.c_str(), path.ends_with(".gz") ? kCompressed : kPlain);
  if (!file->handle) return file->failure("cannot be written");
  file->temporary = temporary;
  gzbuffer(file->handle, kBlock);
  return MeasurementWriter(std::move(file));
}

Status MeasurementWriter::flush() {
  const auto size = static_cast<unsigned>(buffer_.size());
  if (size > 0 && gzwrite(file_->handle, buffer_.data(), size) != static_cast<int>(size))
    return file_->failure("could not be written to its end");
  buffer_.clear();
  return Ok{};
}

Status MeasurementWriter::add(const Measurement& row) {
  append_row(buffer_, row);
  buffer_ += '\n';
  if (buffer_.size() < kBlock) return Ok{};
  return flush();
}

Status MeasurementWriter::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  const int closed = gzclose_w(file_->handle);
  file_->handle = nullptr;
  if (closed != Z_OK) return file_->failure("could not be written to its end");
  if (std::rename(file_->temporary.c_str(), file_->path.c_str()) != 0)
    return file_->failure("could not be put in place");
  file_->temporary.clear();
  return Ok{};
}

std::string_view measurement_header() {
  return "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us";
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
  const std::size_t before = out.size();
  append_dims(out, row.kernel.shape);
  if (out.find(',', before) != std::string::npos) {  // a list of counts
    const std::string dims = out.substr(before);
    out.resize(before);
    append_csv(out, dims);
  }
  out += ',';
  out += name_of(row.context.runtime);
  out += ',';
  out += name_of(row.context.warmth);
  if (row.context.weight_copies > 1)
    fmt::format_to(std::back_inserter(out), ";weight-copies={}", row.context.weight_copies);
  if (row.context.activation_copies > 1)
    fmt::format_to(std::back_inserter(out), ";activation-copies={}", row.context.activation_copies);
  // Nine digits keep a microsecond figure to a femtosecond: more than any timer.
  fmt::format_to(std::back_inserter(out), ",{:.9g}", in_microseconds(row.latency));
}

}  // namespace tilecast
