// A GPU as its data sheet describes it: an immutable value that every formula of Tilecast starts from.
//
// All rates are peaks. `clock.quoted` is the clock at which the vendor quotes its peaks, `clock.max` the highest the
// driver allows: bounds use the latter (H100 is quoted at 1830 MHz and runs up to 1980). What a card sustains is not
// part of its description; see estimate/physics.h.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "constants/tuned.h"
#include "gpu/calibration.h"
#include "gpu/dtype.h"
#include "tilecast/units.h"

namespace tilecast {

enum class Vendor : std::uint8_t { nvidia, amd, intel };

enum class Architecture : std::uint8_t {
  pascal,
  volta,
  turing,
  ampere,
  ada,
  hopper,
  blackwell,
  cdna1,
  cdna2,
  cdna3,
  cdna4,
  xe2
};
inline constexpr std::array<std::string_view, 12> kArchitectureNames = {
    "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell", "cdna1", "cdna2", "cdna3", "cdna4", "xe2"};
constexpr std::string_view name_of(Architecture a) { return kArchitectureNames[static_cast<std::size_t>(a)]; }

// How a tensor pipe is fed; latencies, tile shapes and schedules differ by this, not by compute capability.
enum class TensorGeneration : std::uint8_t {
  none,     // no tensor pipe (Pascal)
  mma,      // warp-wide mma.sync: Volta to Ada, consumer and workstation Blackwell (sm_120)
  wgmma,    // warp-group asynchronous: Hopper
  tcgen05,  // one-thread-issued, tensor memory: data-centre Blackwell (sm_100, sm_103)
  mfma,     // AMD matrix cores
  xmx       // Intel
};

struct Gpu {
  std::string name;
  std::vector<std::string> aliases;
  Vendor vendor = Vendor::nvidia;
  Architecture architecture = Architecture::ampere;
  std::string compute_capability;  // "9.0", "gfx942", "xe2"

  int sms = 0;  // SMs, compute units or Xe cores
  struct {
    Hertz quoted;         // of the vendor's tensor peaks
    Hertz quoted_vector;  // of its vector and fp64 peaks; the same unless the vendor uses two (H100: 1830 and 1980)
    Hertz max;
  } clock;
  Watts power;

  // Dense operations per clock and SM of the tensor pipe, by input and accumulate type; a fused multiply-add is two
  // operations. Zero if the hardware lacks the mode.
  std::array<std::array<double, kDTypeCount>, kDTypeCount> tensor_per_clock{};
  // The same for the vector (FMA) pipe by type, one type per operand and result; int32 counts additions.
  std::array<double, kDTypeCount> vector_per_clock{};
  double xu_per_clock = 0;  // special-function results (exp, rsqrt, sin ...) per clock and SM

  Count registers_per_sm = 0;  // 32-bit
  struct {
    Bytes per_sm, per_cta, per_clock;  // per_clock: bytes per clock and SM
  } shared_memory;
  int max_threads_per_sm = 0;
  int max_ctas_per_sm = 0;

  struct {
    Bytes size, per_clock;  // per_clock: bytes per SM clock, whole chip
  } l2;
  struct LastLevelCache {
    Bytes size;
    BytesPerSecond bandwidth;
  };
  std::optional<LastLevelCache> last_level_cache;  // AMD's Infinity Cache, between L2 and DRAM

  struct {
    Bytes size;
    std::string type;
    BytesPerSecond bandwidth;
    bool ecc = true;  // ECC is enabled as shipped; GDDR stores check bits among the data, HBM beside them
  } dram;
  struct {
    BytesPerSecond nvlink, pcie;  // per direction; zero when absent
  } links;
  bool grace_host = false;  // the host is NVIDIA's Grace, on the same board (GH200, GB200)

  // An engine's default limits on this card; absent: by the card's memory (serve/deployment).
  struct BatchLimits {
    Count sequences = 0, tokens = 0;
  };
  std::optional<BatchLimits> vllm_limits;

  std::map<std::string, OpsPerSecond> published_peaks;  // "tensor bf16/fp32" or "vector fp32" -> dense peak
  std::vector<std::string> notes;
  std::map<std::string, std::string> sources;       // field path -> where the figure comes from
  bool built_in = false;                            // false: from a user's file
  std::shared_ptr<const Calibration> calibration;   // of a calibrated card; null for the rest
  std::shared_ptr<const TunedConstants> constants;  // other values than the shipped ones: measured cards, laboratory
  // The card that this description was derived from (`like`); null if it is complete by itself. What was measured on
  // the parent applies to the child as long as they are of one kind (`inherits`).
  std::shared_ptr<const Gpu> parent;
  bool as_parent = false;  // nothing but names and notes differs from the parent

  // Peak rates of the whole chip at a clock.
  OpsPerSecond tensor_peak(DType input, DType accumulate, Hertz at) const {
    return ops(tensor_rate(input, accumulate) * sms) * at;
  }
  OpsPerSecond vector_peak(DType type, Hertz at) const {
    return ops(vector_per_clock[static_cast<std::size_t>(type)] * sms) * at;
  }
  OpsPerSecond xu_peak(Hertz at) const { return ops(xu_per_clock * sms) * at; }
  BytesPerSecond l2_peak(Hertz at) const { return l2.per_clock * at; }
  BytesPerSecond shared_peak(Hertz at) const { return shared_memory.per_clock * static_cast<double>(sms) * at; }

  double tensor_rate(DType input, DType accumulate) const {
    return tensor_per_clock[static_cast<std::size_t>(input)][static_cast<std::size_t>(accumulate)];
  }
  bool has_tensor(DType input, DType accumulate) const { return tensor_rate(input, accumulate) > 0; }

  // The cache that decides whether data is served on chip: the last one before DRAM.
  Bytes resident_capacity() const { return last_level_cache ? last_level_cache->size : l2.size; }

  bool has_hbm() const { return dram.type.starts_with("HBM"); }
  bool cdna3_or_later() const { return architecture == Architecture::cdna3 || architecture == Architecture::cdna4; }
  TensorGeneration tensor_generation() const;

  // The value of a constant that the laboratory can refit.
  double tuned(const Tunable& constant) const { return constants ? constants->value(constant) : constant.value; }

  // Whether measurements of the parent apply to this card: the same vendor, architecture and tensor pipe.
  bool inherits() const;
  // Whether collectives measured on the parent's server are this card's too: nothing joins its cards otherwise.
  bool links_as_parent() const {
    return !parent || (parent->links.nvlink == links.nvlink && parent->links.pcie == links.pcie);
  }
  // The card whose measurements are looked up: the parent if its measurements apply, otherwise the card itself.
  const Gpu& measured() const { return inherits() ? *parent : *this; }
};

}  // namespace tilecast
