// GPUs: those Tilecast knows by name, and those the caller describes (docs/gpu-files.md).
//
//   auto card = tilecast::describe_gpu({.name = "H100-SXM"});
//   if (card) use(card->dram_rate, card->peak("tensor bf16/fp32"));
//   auto half = tilecast::describe_gpu({.name = R"({"like": "H100-SXM", "name": "Half", "sms": 66})"});
//
// Everything here is a value or a pure function; any number of threads may call any of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct GpuQuery {
  std::string name = {};  // a GPU's name or alias, the path of a description file, or the description's JSON text
};

// Operations per second of the whole chip in one mode, dense, at the clock at which the vendor quotes it.
struct GpuPeak {
  std::string mode;  // "tensor bf16/fp32": inputs / accumulator; "vector fp32"
  OpsPerSecond rate;
  std::optional<OpsPerSecond> published;  // the vendor's figure, if there is one
};

// What is known about a card. Rates are peaks; those of links are in one direction.
struct GpuInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string architecture;        // "hopper"
  std::string compute_capability;  // "9.0", "gfx942"
  bool built_in = false;           // false: from the caller's description
  bool calibrated = false;         // measured rows correct its forecasts (tilecast/calibrate.h)
  int sms = 0;                     // SMs, compute units or Xe cores
  Hertz clock_quoted, clock_max;   // where the vendor quotes its peaks; the highest the driver allows
  Watts power;
  std::optional<double> usd_per_hour;  // to rent it on demand; absent if no list has it
  std::string price_source;            // whose list, and when it was read
  std::vector<GpuPeak> peaks;

  struct {
    Count registers = 0;  // of 32 bits
    Bytes shared_memory, shared_memory_per_cta, shared_memory_per_clock;
    int threads = 0, ctas = 0;  // at most
  } sm;
  Bytes l2;
  BytesPerSecond l2_rate;  // at the highest clock
  struct Cache {
    Bytes size;
    BytesPerSecond rate;
  };
  std::optional<Cache> last_level_cache;  // between L2 and DRAM, if there is one
  Bytes dram;
  std::string dram_type;
  BytesPerSecond dram_rate;
  bool dram_ecc = true;         // ECC is enabled as shipped
  BytesPerSecond nvlink, pcie;  // zero if absent

  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> sources;  // a field, and where its figure comes from

  // Peak of a mode; zero if the chip lacks it.
  OpsPerSecond peak(std::string_view mode) const {
    for (const GpuPeak& one : peaks)
      if (one.mode == mode) return one.rate;
    return {};
  }
  // Peak of tensor products with these inputs, whatever the accumulator: "bf16".
  OpsPerSecond tensor_peak(std::string_view inputs) const;
};

// The built-in GPUs, by vendor, architecture and name.
std::vector<GpuInfo> known_gpus();
// One of them, or a described one; errors name the file and its field.
Result<GpuInfo> describe_gpu(const GpuQuery& query);

// The description itself, like a file in data/gpus: edited and passed back as `name`, it is another card.
Result<std::string> gpu_description(const GpuQuery& query);

// A constant of the physics, as forecasts for a card use it.
struct ConstantInfo {
  std::string name;  // "pipeline.step_clocks"
  std::string of;    // what it applies to: a kernel, an engine; empty: all
  double value = 0;
  std::string unit;       // "1" for shares, exponents and counts
  std::string kind;       // "published", "measured", "fitted" or "assumed"
  bool refitted = false;  // `tilecast-lab fit` refits it
  std::string about;      // what it is
  std::string source;     // where it comes from
};
struct GpuConstants {
  std::string gpu;
  std::vector<ConstantInfo> constants;
};
Result<GpuConstants> gpu_constants(const GpuQuery& query);

// A number format: what `dtype` names.
struct NumberFormat {
  std::string name;                               // "bf16", "fp8_block", "int4_wo" ...
  std::string math, accumulate;                   // types that the multiplier sees and accumulates in
  double weight_bits = 16, activation_bits = 16;  // per element in memory, scales included
  std::string output;                             // type of a product's result
  bool quantises = false;                         // a separate kernel first converts activations to the format
};
std::vector<NumberFormat> number_formats();

const Question& gpus_question();
const Question& gpu_question();
std::vector<BoundArgument> arguments_of(GpuQuery& query);

}  // namespace tilecast
