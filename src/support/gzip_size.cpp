#include "support/gzip_size.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace tilecast {

bool unpacks_to_more(std::string_view bytes, std::size_t most) {
  if (!bytes.starts_with("\x1f\x8b")) return false;
  z_stream stream{};
  constexpr int kGzip = 16;  // added to the window's bits: a gzip header (zlib.h, inflateInit2)
  if (inflateInit2(&stream, kGzip + MAX_WBITS) != Z_OK) return false;
  // zlib does not write to its input; its interface is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
  std::vector<Bytef> block(1 << 18);
  std::size_t unpacked = 0;
  for (int state = Z_OK; unpacked <= most;) {
    if (state == Z_STREAM_END && (stream.avail_in == 0 || inflateReset(&stream) != Z_OK)) break;  // or another follows
    if (state != Z_OK && state != Z_STREAM_END) break;
    stream.next_out = block.data();
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    unpacked += block.size() - stream.avail_out;
  }
  inflateEnd(&stream);
  return unpacked > most;
}

}  // namespace tilecast
