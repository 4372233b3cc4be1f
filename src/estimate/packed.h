// The container of every weight file, whatever the method: one header, one checksum, one way to reject a file.
//
// Layout, little-endian: "TILECAST", format version (u32), packed and plain length (u64 each) and CRC-32 (u32) of the
// payload, then the payload, zlib-compressed: the method's name, then what the method writes. A file that is foreign,
// newer, truncated, damaged or another method's is rejected with a one-line message.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

// No weight file is larger, packed or plain.
inline constexpr std::size_t kMostPackedBytes = std::size_t{256} << 20;

class PackWriter {
 public:
  template <class T>
  void number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void count(std::size_t n) { number(static_cast<std::uint32_t>(n)); }
  void text(std::string_view value);
  void view(std::string_view bytes);  // of any length
  void counts(const std::map<std::string, Count>& map);
  template <class T>
  void list(std::span<const T> values) {
    count(values.size());
    out_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// Reads what PackWriter wrote; any overrun or absurd count sets bad() and yields zeros from then on.
class PackReader {
 public:
  explicit PackReader(std::string_view bytes) : left_(bytes) {}
  bool bad() const { return bad_; }
  bool at_end() const { return left_.empty(); }
  void spoil() { bad_ = true; }

  template <class T>
  T number() {
    T value{};
    if (left_.size() < sizeof value) return bad_ = true, value;
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::size_t count(std::size_t most);
  std::string text();
  std::string_view view();
  std::map<std::string, Count> counts();
  template <class T>
  std::vector<T> list(std::size_t most) {
    const std::size_t n = count(most);
    if (bad_ || left_.size() / sizeof(T) < n) return bad_ = true, std::vector<T>();
    std::vector<T> values(n);
    if (n > 0) std::memcpy(values.data(), left_.data(), n * sizeof(T));
    left_.remove_prefix(n * sizeof(T));
    return values;
  }

 private:
  std::string_view left_;
  bool bad_ = false;
};

// The whole file of a method's payload. `level` is zlib's: 9 for small files, 1 for networks that hardly shrink.
// 0 for payloads that are already packed.
std::string pack(std::string_view method, const PackWriter& payload, int level = 9);

// 1 did not name its method, 2 had no tunings, 3 had one forest for all seen cards, 4 packed all models together, 5 did
// not name the features of Tilecast's forests, 6 did not say which floors are a host's, 7 had one host floor that was
// added to every kernel, 8 gave unseen cards everything that was learned, 9 had one spread for all unseen cards. Files
// of the other methods are the same from 5 on.
inline constexpr std::uint32_t kPackVersion = 10, kPackVersionOfOneUnseenSpread = 9, kPackVersionWithoutCarry = 8,
                               kPackVersionOfOneFloor = 7, kPackVersionWithoutHosts = 6, kPackVersionOfUnnamed = 5;
// Zero: not one of our files.
std::uint32_t pack_version(std::string_view bytes);

// The payload of a file that pack(method) made; `place` names the file in errors. Versions before `oldest` are
// rejected.
Result<std::string> unpack(std::string_view bytes, std::string_view method, const std::string& place,
                           std::uint32_t oldest = kPackVersion);

// The error for a payload that unpacks but makes no sense.
Error damaged(const std::string& place, std::string what);

}  // namespace tilecast
