#include "cli/plot/png.h"

#include <zlib.h>

#include <cstdint>

namespace tilecast {
namespace {

void append_number(std::string& out, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xFF);
}

// Length, kind, data, and a checksum of the last two.
void append_chunk(std::string& out, std::string_view kind, std::string_view data) {
  append_number(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(kind) + std::string(data);
  out += body;
  append_number(out, static_cast<std::uint32_t>(
                         crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

std::string compressed(std::string_view data) {
  uLongf size = compressBound(static_cast<uLong>(data.size()));
  std::string out(size, '\0');
  const int done = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                             static_cast<uLong>(data.size()), Z_BEST_COMPRESSION);
  out.resize(done == Z_OK ? size : 0);
  return out;
}

}  // namespace

std::string png_file(std::size_t width, std::size_t height, std::string_view rows) {
  std::string header;
  append_number(header, static_cast<std::uint32_t>(width));
  append_number(header, static_cast<std::uint32_t>(height));
  // 8 bits a channel; red, green and blue; deflate; filters by row; not interlaced.
  for (const int field : {8, 2, 0, 0, 0}) header += static_cast<char>(field);
  std::string out = "\x89PNG\r\n\x1a\n";
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", compressed(rows));
  append_chunk(out, "IEND", "");
  return out;
}

}  // namespace tilecast
