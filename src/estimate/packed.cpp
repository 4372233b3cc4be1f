#include "estimate/packed.h"

#include <fmt/format.h>
#include <zlib.h>

namespace tilecast {
namespace {

constexpr std::string_view kMagic = "TILECAST";
constexpr std::size_t kHeader = 8 + 4 + 8 + 8 + 4;  // magic, version, packed and plain length, CRC

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

Error refusal(const std::string& place, std::string problem) {
  return Error{place, "", std::move(problem), "`tilecast-lab train` writes such files"};
}

}  // namespace

void PackWriter::text(std::string_view value) {
  count(value.size());
  out_ += value;
}

void PackWriter::view(std::string_view bytes) {
  number(static_cast<std::uint64_t>(bytes.size()));
  out_ += bytes;
}

void PackWriter::counts(const std::map<std::string, Count>& map) {
  count(map.size());
  for (const auto& [name, n] : map) text(name), number(n);
}

std::size_t PackReader::count(std::size_t most) {
  const auto n = number<std::uint32_t>();
  if (n > most) return bad_ = true, 0;
  return n;
}

std::string PackReader::text() {
  const std::size_t n = count(4096);
  if (bad_ || left_.size() < n) return bad_ = true, std::string();
  std::string value(left_.substr(0, n));
  left_.remove_prefix(n);
  return value;
}

std::string_view PackReader::view() {
  const auto n = number<std::uint64_t>();
  if (bad_ || left_.size() < n) return bad_ = true, std::string_view();
  const std::string_view bytes = left_.substr(0, n);
  left_.remove_prefix(n);
  return bytes;
}

std::map<std::string, Count> PackReader::counts() {
  std::map<std::string, Count> map;
  for (std::size_t i = 0, n = count(100000); i < n && !bad_; ++i) {
    std::string name = text();
    map[std::move(name)] = number<Count>();
  }
  return map;
}

std::string pack(std::string_view method, const PackWriter& payload, int level) {
  PackWriter named;
  named.text(method);
  const std::string plain = named.bytes() + payload.bytes();
  uLongf packed_size = compressBound(static_cast<uLong>(plain.size()));
  std::string packed(packed_size, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &packed_size, reinterpret_cast<const Bytef*>(plain.data()),
            static_cast<uLong>(plain.size()), level);
  packed.resize(packed_size);
  PackWriter file;
  for (const char c : kMagic) file.number(c);
  file.number(kPackVersion);
  file.number(static_cast<std::uint64_t>(packed.size()));
  file.number(static_cast<std::uint64_t>(plain.size()));
  file.number(checksum(packed));
  return file.bytes() + packed;
}

std::uint32_t pack_version(std::string_view bytes) {
  if (bytes.size() < kHeader || !bytes.starts_with(kMagic)) return 0;
  return PackReader(bytes.substr(kMagic.size())).number<std::uint32_t>();
}

Result<std::string> unpack(std::string_view bytes, std::string_view method, const std::string& place,
                           std::uint32_t oldest) {
  if (bytes.size() < kHeader || !bytes.starts_with(kMagic)) return refusal(place, "is not a Tilecast weight file");
  PackReader header(bytes.substr(kMagic.size(), kHeader - kMagic.size()));
  const auto version = header.number<std::uint32_t>();
  if (version < oldest || version > kPackVersion)
    return refusal(place, fmt::format("has format version {}, this program reads {}", version, kPackVersion));
  const auto packed_size = header.number<std::uint64_t>(), plain_size = header.number<std::uint64_t>();
  const auto crc = header.number<std::uint32_t>();
  const std::string_view packed = bytes.substr(kHeader);
  if (packed.size() < packed_size)
    return refusal(place, fmt::format("is truncated: {} of {} bytes", packed.size(), packed_size));
  if (packed.size() > packed_size || checksum(packed) != crc) return damaged(place, "its checksum does not match");
  if (plain_size > kMostPackedBytes) return refusal(place, "is larger than any weight file");
  std::string plain(plain_size, '\0');
  uLongf got = plain_size;
  if (uncompress(reinterpret_cast<Bytef*>(plain.data()), &got, reinterpret_cast<const Bytef*>(packed.data()),
                 static_cast<uLong>(packed.size())) != Z_OK ||
      got != plain_size)
    return damaged(place, "it does not unpack");
  PackReader in(plain);
  const std::string own = in.text();
  if (in.bad()) return damaged(place, "it names no method");
  if (own != method)
    return Error{place, "", fmt::format("holds weights of the method {}, not {}", own, method),
                 "take --method " + own + ", or the weights of " + std::string(method)};
  return plain.substr(sizeof(std::uint32_t) + own.size());
}

Error damaged(const std::string& place, std::string what) { return refusal(place, "is damaged: " + what); }

}  // namespace tilecast
