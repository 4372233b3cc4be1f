#include "estimate/weights.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/file.h"

namespace tilecast {
namespace {

constexpr std::string_view kMagic = "TILECAST";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeader = 8 + 4 + 8 + 8 + 4;  // magic, version, compressed and plain length, CRC
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

class Writer {
 public:
  template <class T>
  void number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    out_ += value;
  }
  void counts(const std::map<std::string, Count>& map) {
    number(static_cast<std::uint32_t>(map.size()));
    for (const auto& [name, count] : map) text(name), number(count);
  }
  // Leaves are kept as 16-bit shares of the forest's largest one: a thousandth of a percent of its effect.
  void forest(const Forest& forest) {
    number(static_cast<std::uint32_t>(forest.borders().size()));
    for (const auto& borders : forest.borders()) {
      number(static_cast<std::uint32_t>(borders.size()));
      for (const float border : borders) number(border);
    }
    number(forest.base());
    float largest = 1e-20f;
    for (const Forest::Tree& tree : forest.trees())
      for (const float leaf : tree.leaf) largest = std::max(largest, std::abs(leaf));
    number(largest);
    number(static_cast<std::uint32_t>(forest.trees().size()));
    for (const Forest::Tree& tree : forest.trees()) {
      number(tree.depth);
      for (int level = 0; level < tree.depth; ++level) number(tree.feature[level]), number(tree.threshold[level]);
      for (const float leaf : tree.leaf) number(static_cast<std::int16_t>(std::lround(leaf / largest * 32767)));
    }
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// Reads what Writer wrote; any overrun or absurd count sets `bad` and yields zeros from then on.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  bool bad() const { return bad_; }
  bool at_end() const { return left_.empty(); }

  template <class T>
  T number() {
    T value{};
    if (left_.size() < sizeof value) return bad_ = true, value;
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::size_t count(std::size_t most) {
    const auto n = number<std::uint32_t>();
    if (n > most) return bad_ = true, 0;
    return n;
  }
  std::string text() {
    const std::size_t n = count(4096);
    if (bad_ || left_.size() < n) return bad_ = true, std::string();
    std::string value(left_.substr(0, n));
    left_.remove_prefix(n);
    return value;
  }
  std::map<std::string, Count> counts() {
    std::map<std::string, Count> map;
    for (std::size_t i = 0, n = count(100000); i < n && !bad_; ++i) {
      std::string name = text();
      map[std::move(name)] = number<Count>();
    }
    return map;
  }
  Forest forest() {
    std::vector<std::vector<float>> borders(count(64));
    for (auto& own : borders) {
      own.resize(count(Forest::kMostBins));
      for (float& border : own) border = number<float>();
      if (bad_) return {};
    }
    const float base = number<float>(), largest = number<float>();
    if (!std::isfinite(base) || !std::isfinite(largest)) bad_ = true;
    std::vector<Forest::Tree> trees(bad_ ? 0 : count(100000));
    for (Forest::Tree& tree : trees) {
      tree.depth = number<std::uint8_t>();
      if (tree.depth > Forest::kMostDepth) bad_ = true;
      for (int level = 0; level < tree.depth && !bad_; ++level) {
        tree.feature[level] = number<std::uint8_t>();
        tree.threshold[level] = number<std::uint8_t>();
        if (tree.feature[level] >= borders.size()) bad_ = true;
      }
      if (bad_) return {};
      tree.leaf.resize(std::size_t{1} << tree.depth);
      for (float& leaf : tree.leaf) leaf = static_cast<float>(number<std::int16_t>()) / 32767 * largest;
    }
    return bad_ ? Forest() : Forest(std::move(borders), base, std::move(trees));
  }

 private:
  std::string_view left_;
  bool bad_ = false;
};

void write_model(Writer& out, const FamilyModel& model) {
  out.text(model.key);
  out.number(static_cast<std::uint32_t>(model.sources.size()));
  for (const auto& [name, facts] : model.sources) {
    out.text(name);
    out.number(facts.floor_us);
    out.number(facts.code);
  }
  out.counts(model.seen);
  for (const Forest* forest : {&model.median, &model.low, &model.high, &model.ceiling}) out.forest(*forest);
}

FamilyModel read_model(Reader& in) {
  FamilyModel model;
  model.key = in.text();
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) {
    std::string name = in.text();
    const float floor = in.number<float>(), code = in.number<float>();
    model.sources[std::move(name)] = {floor, code};
  }
  model.seen = in.counts();
  for (Forest* forest : {&model.median, &model.low, &model.high, &model.ceiling}) *forest = in.forest();
  return model;
}

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace

const FamilyModel* Weights::find(std::string_view key) const {
  const auto at = std::lower_bound(models.begin(), models.end(), key,
                                   [](const FamilyModel& m, std::string_view k) { return m.key < k; });
  return at != models.end() && at->key == key ? &*at : nullptr;
}

std::string to_bytes(const Weights& weights) {
  Writer payload;
  payload.counts(weights.sources);
  payload.number(static_cast<std::uint32_t>(weights.models.size()));
  for (const FamilyModel& model : weights.models) write_model(payload, model);
  const std::string& plain = payload.bytes();
  uLongf packed_size = compressBound(static_cast<uLong>(plain.size()));
  std::string packed(packed_size, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &packed_size, reinterpret_cast<const Bytef*>(plain.data()),
            static_cast<uLong>(plain.size()), 9);
  packed.resize(packed_size);
  Writer file;
  for (const char c : kMagic) file.number(c);
  file.number(kVersion);
  file.number(static_cast<std::uint64_t>(packed.size()));
  file.number(static_cast<std::uint64_t>(plain.size()));
  file.number(checksum(packed));
  return file.bytes() + packed;
}

Result<Weights> weights_from_bytes(std::string_view bytes, const std::string& place) {
  const auto refuse = [&](std::string problem) {
    return Error{place, "", std::move(problem), "`tilecast train` writes such files"};
  };
  if (bytes.size() < kHeader || !bytes.starts_with(kMagic)) return refuse("is no Tilecast weight file");
  Reader header(bytes.substr(kMagic.size(), kHeader - kMagic.size()));
  const auto version = header.number<std::uint32_t>();
  if (version != kVersion)
    return refuse(fmt::format("has format version {}, this program reads {}", version, kVersion));
  const auto packed_size = header.number<std::uint64_t>(), plain_size = header.number<std::uint64_t>();
  const auto crc = header.number<std::uint32_t>();
  const std::string_view packed = bytes.substr(kHeader);
  if (packed.size() != packed_size)
    return refuse(fmt::format("is truncated: {} of {} bytes", packed.size(), packed_size));
  if (checksum(packed) != crc) return refuse("is damaged: its checksum does not match");
  if (plain_size > kMostBytes) return refuse("is larger than any weight file");
  std::string plain(plain_size, '\0');
  uLongf got = plain_size;
  if (uncompress(reinterpret_cast<Bytef*>(plain.data()), &got, reinterpret_cast<const Bytef*>(packed.data()),
                 static_cast<uLong>(packed.size())) != Z_OK ||
      got != plain_size)
    return refuse("is damaged: it does not unpack");
  Reader in(plain);
  Weights weights;
  weights.sources = in.counts();
  for (std::size_t i = 0, n = in.count(100000); i < n && !in.bad(); ++i) weights.models.push_back(read_model(in));
  if (in.bad() || !in.at_end()) return refuse("is damaged: its contents do not parse");
  if (!std::is_sorted(weights.models.begin(), weights.models.end(), [](auto& a, auto& b) { return a.key < b.key; }))
    return refuse("is damaged: its models are out of order");
  for (const FamilyModel& model : weights.models)
    for (const Forest* forest : {&model.median, &model.low, &model.high, &model.ceiling})
      if (forest->features() != kFeatureCount)
        return refuse(
            fmt::format("was trained on {} features, this program has {}", forest->features(), kFeatureCount));
  return weights;
}

Status save_weights(const Weights& weights, const std::string& path) {
  return write_text_file(path, to_bytes(weights));
}

Result<Weights> load_weights(const std::string& path) {
  auto bytes = read_text_file(path, kMostBytes);
  if (!bytes) return std::move(bytes).error();
  return weights_from_bytes(*bytes, path);
}

}  // namespace tilecast
