// The text form of CommConstants: one fact a line, words apart by spaces.
#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <sstream>

#include "cluster/comm_constants.h"
#include "cluster/embedded_clusters.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr const char* kHeader =
    "# What was fitted of collectives; made by `tilecast collectives --fit`, read by cluster/comm_constants.h.\n"
    "#   machine GPU source library link latency bandwidth        (log2)\n"
    "#   curve library link op ranks integers first values...     (log2 of time over the empty message's)\n"
    "#   own GPU source, then as a curve: what a machine measured departs from it\n"
    "#   host GPU library us                                      (an eager launch)\n"
    "#   spread library link standing low high                   (10 % and 90 % of log2(measured / forecast))\n"
    "#   network figure value                                     (between nodes, constants/network.h)\n"
    "#   crossed network op nodes local first values...           (log2 of measured over physics, by half octaves)\n";

// The last digit of a host's microseconds that the text keeps: less would be written as none.
constexpr double kLeastHostUs = 0.1;

std::string curve_words(const CurveKey& key, const Curve& curve) {
  std::string line =
      fmt::format("{} {} {} {} {} {}", key.library, key.link, key.op, key.ranks, key.integers ? 1 : 0, curve.first);
  for (const double value : curve.values) line += fmt::format(" {:.3f}", value);
  return line;
}

struct Words {
  std::istringstream in;
  template <class T>
  T next() {
    T value{};
    in >> value;
    return value;
  }
  bool ok() const { return !in.fail(); }
  // All read, and nothing behind it.
  bool done() { return ok() && (in >> std::ws).eof(); }
};

bool read_values(Words& words, Curve& curve) {
  for (double value = 0; words.in >> value;) {
    if (!std::isfinite(value)) return false;
    curve.values.push_back(value);
  }
  return words.in.eof() && !curve.values.empty() && curve.values.size() < 200;
}

bool read_curve(Words& words, CurveKey& key, Curve& curve) {
  words.in >> key.library >> key.link >> key.op >> key.ranks >> key.integers >> curve.first;
  return words.ok() && key.ranks >= 2 && std::abs(curve.first) <= 100 && read_values(words, curve);
}

bool read_network(Words& words, NetworkConstants& into) {
  const auto name = words.next<std::string>();
  const double value = words.next<double>();
  if (!words.done() || !(value > 0) || !std::isfinite(value)) return false;
  for (const auto& [known, member] : kNetworkFigures)
    if (name == known) return into.*member = value, true;
  return false;
}

bool read_crossed(Words& words, NetworkConstants& into) {
  NetworkConstants::Key key;
  Curve curve;
  words.in >> key.network >> key.op >> key.nodes >> key.local >> curve.first;
  if (!words.ok() || key.nodes < 2 || key.local < 1 || std::abs(curve.first) > 200) return false;
  if (!read_values(words, curve)) return false;
  into.own[key] = std::move(curve);
  return true;
}

bool read_line(const std::string& line, CommConstants& into) {
  Words words{std::istringstream(line)};
  const auto kind = words.next<std::string>();
  if (kind == "machine") {
    MachineKey key;
    MachineScale scale;
    words.in >> key.gpu >> key.source >> key.library >> scale.link >> scale.latency >> scale.bandwidth;
    into.machines[key] = scale;
    return words.done();
  }
  if (kind == "curve") {
    CurveKey key;
    Curve curve;
    if (!read_curve(words, key, curve)) return false;
    into.curves[key] = std::move(curve);
    return true;
  }
  if (kind == "own") {
    MachineKey machine;
    CurveKey key;
    Curve curve;
    words.in >> machine.gpu >> machine.source;
    if (!read_curve(words, key, curve)) return false;
    machine.library = key.library;
    into.own[{machine, key}] = std::move(curve);
    return true;
  }
  if (kind == "host") {
    const auto gpu = words.next<std::string>(), library = words.next<std::string>();
    const double us = words.next<double>();
    if (!words.done() || us < kLeastHostUs) return false;
    into.host_us[{gpu, library}] = us;
    return true;
  }
  if (kind == "spread") {
    SpreadKey key;
    CommSpread spread;
    words.in >> key.library >> key.link >> key.standing >> spread.low >> spread.high;
    into.spreads[key] = spread;
    return words.done() && spread.low <= 0 && spread.high >= 0;
  }
  if (kind == "network") return read_network(words, into.network);
  if (kind == "crossed") return read_crossed(words, into.network);
  return false;
}

}  // namespace

std::string comm_constants_text(const CommConstants& constants) {
  std::string out = kHeader;
  for (const auto& [key, scale] : constants.machines)
    out += fmt::format("machine {} {} {} {} {:.3f} {:.3f}\n", key.gpu, key.source, key.library, scale.link,
                       scale.latency, scale.bandwidth);
  for (const auto& [key, curve] : constants.curves) out += "curve " + curve_words(key, curve) + "\n";
  for (const auto& [key, curve] : constants.own)
    out += fmt::format("own {} {} {}\n", key.first.gpu, key.first.source, curve_words(key.second, curve));
  for (const auto& [key, us] : constants.host_us) out += fmt::format("host {} {} {:.1f}\n", key.first, key.second, us);
  for (const auto& [key, spread] : constants.spreads)
    out += fmt::format("spread {} {} {} {:.3f} {:.3f}\n", key.library, key.link, key.standing, spread.low, spread.high);
  const NetworkConstants& network = constants.network;
  for (const auto& [name, member] : kNetworkFigures) out += fmt::format("network {} {:.4g}\n", name, network.*member);
  for (const auto& [key, curve] : network.own) {
    out += fmt::format("crossed {} {} {} {} {}", key.network, key.op, key.nodes, key.local, curve.first);
    for (const double value : curve.values) out += fmt::format(" {:.3f}", value);
    out += "\n";
  }
  return out;
}

Result<CommConstants> parse_comm_constants(std::string_view text, const std::string& place) {
  CommConstants constants;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (!read_line(line, constants))
      return Error{fmt::format("{}:{}", place, number), "", "is not a line of collective constants",
                   "the file's head says what lines hold; `tilecast collectives --fit` makes it"};
  }
  return constants;
}

const CommConstants& shipped_comm_constants() {
  static const CommConstants constants = [] {
    CommConstants all;
    for (const EmbeddedFile& file : embedded_collective_files()) {
      auto parsed = parse_comm_constants(file.text, "data/collectives/" + std::string(file.name));
      assert(parsed.ok() && "the built-in constants of collectives are broken");
      if (parsed) all = *std::move(parsed);
    }
    return all;
  }();
  return constants;
}

}  // namespace tilecast
