// What was fitted of collectives (data/collectives, made by `tilecast collectives --fit`): curves by scheme, and two
// scales for each machine measured.
//
// With v = log2(wire / empty) - latency - bandwidth of the machine, a call takes empty x 2^(latency + curve(v)).
// `latency` is by how much (log2) the machine's empty messages take longer than physics says, `bandwidth` by how much
// its links carry more than the average machine's. A GPU that was not measured gets the mean of its architecture's,
// else of all machines with the same kind of link.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/gpu.h"
#include "tilecast/result.h"

namespace tilecast {

// The source whose machines forecasts for users are made for: collectives replayed from CUDA graphs.
inline constexpr std::string_view kPlainSource = "aiconfigurator";

struct CurveKey {
  std::string library;  // nccl, vllm, sglang, trtllm; those of expert_exchange.h
  std::string link;     // nvlink, nvls (the switch adds), pcie, network
  std::string op;       // a collective, one_shot or two_shot; dispatch, combine, combine_low, prepare
  int ranks = 2;
  bool integers = false;
  auto operator<=>(const CurveKey&) const = default;
};

// Values at whole numbers first, first + 1, ...; straight between them, flat before, slope one after.
struct Curve {
  int first = 0;
  std::vector<double> values;
  int last() const { return first + static_cast<int>(values.size()) - 1; }
};
// The curve, with a machine's own departures from it where there are any; never falls.
double curve_at(const Curve& curve, const Curve* own, double v);

struct MachineKey {
  std::string gpu, source, library;
  auto operator<=>(const MachineKey&) const = default;
};
struct MachineScale {
  std::string link;  // nvlink or pcie
  double latency = 0, bandwidth = 0;
};
struct CommSpread {
  double low = 0, high = 0;  // 10 % and 90 % quantiles of log2(measured / forecast)
};
struct SpreadKey {
  std::string library;   // with "-eager" where the host launches
  std::string link;      // nvlink or pcie; network of exchanges and between nodes; "any" for GPUs that were measured
  std::string standing;  // the source a GPU was measured by; else kAkin or kAlone; between nodes kBetween or kNetwork
  auto operator<=>(const SpreadKey&) const = default;  // NOLINT(modernize-use-nullptr): there is no pointer
};
// GPUs that were not measured: another of the architecture was, or none.
inline constexpr const char *kAkin = "akin", *kAlone = "alone";
// Calls over networks that were not measured, and over one that was.
inline constexpr const char *kBetween = "between", *kNetwork = "network";

// What is reached of networks between nodes (cluster/network.h), where constants/network.h only starts.
struct NetworkConstants {
  double connection;                               // GB/s at which a message's chunks are handed on
  double staged_node, staged_duplex, staged_step;  // without GPUDirect: GB/s, share, us
  NetworkConstants();                              // as assumed, nothing fitted

  // Networks that were measured: log2(measured / physics) at whole half octaves of bytes, by what ran how.
  struct Key {
    std::string network, op;
    int nodes = 2, local = 1;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): there is no pointer
  };
  std::map<Key, Curve> own;
  // Zero where the network did not run such calls.
  double departure(const Key& key, double bytes) const;
  bool knows(std::string_view network) const;
};
// The fitted numbers by the names they have in files.
inline constexpr std::array<std::pair<std::string_view, double NetworkConstants::*>, 4> kNetworkFigures = {
    {{"connection", &NetworkConstants::connection},
     {"staged_node", &NetworkConstants::staged_node},
     {"staged_duplex", &NetworkConstants::staged_duplex},
     {"staged_step", &NetworkConstants::staged_step}}};

struct CommConstants {
  NetworkConstants network;
  std::map<CurveKey, Curve> curves;
  std::map<MachineKey, MachineScale> machines;
  std::map<std::pair<MachineKey, CurveKey>, Curve> own;
  std::map<std::pair<std::string, std::string>, double> host_us;  // GPU, library: an eager launch
  std::map<SpreadKey, CommSpread> spreads;

  // The machine with this GPU that was measured so, else one that was measured otherwise.
  MachineKey machine_of(const std::string& gpu, std::string_view source, const std::string& library) const;
  // Of a machine, or what is nearest to it.
  MachineScale scale_of(const Gpu& gpu, std::string_view source, const std::string& library, bool pcie) const;
  bool has_seen(const std::string& gpu) const;  // in any library
  // Whether a machine with this GPU ran the scheme of a curve, over any ranks.
  bool has_run(const std::string& gpu, const CurveKey& curve) const;
  // An eager launch on the hosts of this GPU; else on those nearest to it: a server's processor is of its GPU's time.
  double host_of(const Gpu& gpu, const std::string& library) const;
  CommSpread spread_of(const SpreadKey& key) const;
  // The machine itself where it was measured, else those of its architecture and kind of link: whose departures from
  // the curves it shares.
  std::vector<MachineKey> kin_of(const Gpu& gpu, const MachineKey& machine, bool pcie) const;
  // log2(time / (empty x 2^latency)) at v, the mean of these machines'; between the ranks measured it goes with their
  // logarithm.
  double level(const CurveKey& key, const std::vector<MachineKey>& kin, double v) const;
  // The most ranks that a curve of this library, link and collective was fitted to; 0 where there is none.
  int most_ranks(const CurveKey& key) const;
};

std::string comm_constants_text(const CommConstants& constants);
Result<CommConstants> parse_comm_constants(std::string_view text, const std::string& place);
const CommConstants& shipped_comm_constants();

}  // namespace tilecast
