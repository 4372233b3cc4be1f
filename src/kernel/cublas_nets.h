// The fitted networks behind cublas_simt.h, as stored in data/plans/cublas_fp32.txt, with every product that does not
// depend on the problem precomputed.
//
// A kernel scores each of its splits:
//   score = output . relu(hidden) + linear[split] . r
//   hidden = bias + by_problem' f + by_launch' g + (the split's own share)
// r are features of the problem alone, f of the kernel's tiling of it, and g of the launch that a split results in.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"
#include "tilecast/result.h"

namespace tilecast {

// Four floats that one instruction handles (GCC and Clang vector extension): left to itself, the compiler turns the
// inner loop into branches and single floats, half as fast.
typedef float Lanes __attribute__((vector_size(16)));
inline constexpr std::size_t kLanes = 4;

inline constexpr std::size_t kHiddenUnits = 16;      // smaller networks are padded with zeros
inline constexpr std::size_t kTilingFeatures = 8;    // f
inline constexpr std::size_t kLaunchFeatures = 6;    // g
inline constexpr std::size_t kProblemFeatures = 11;  // r, padded with a zero
inline constexpr int kMostKernels = 16;              // of one GPU
inline constexpr std::size_t kMostCandidates = 160;  // their splits together

using HiddenUnits = std::array<Lanes, kHiddenUnits / kLanes>;
using ProblemFeatures = std::array<Lanes, (kProblemFeatures + 1) / kLanes>;

struct SplitNet {
  int split = 1;
  float log_split = 0;
  // What the split alone adds to the hidden units, when its partial sums fit the workspace and when they do not.
  HiddenUnits fitting{}, exceeding{};
  ProblemFeatures linear{};
};

struct KernelNet {
  int tile_m = 0, tile_n = 0, tile_k = 0, threads = 0;
  float log_area = 0;     // log2(tile_m tile_n)
  std::size_t group = 0;  // first kernel of the GPU with the same tile
  bool sliced = false;    // warps of a CTA share the reduction
  HiddenUnits bias{}, output{};
  std::array<HiddenUnits, kTilingFeatures> by_problem{};
  std::array<HiddenUnits, kLaunchFeatures> by_launch{};
  std::vector<SplitNet> splits;  // ascending
};

using KernelNets = std::vector<KernelNet>;

// GPUs whose choices were fitted. Others use the nearest: Ada that of Ampere, Blackwell that of Hopper.
enum class CublasGpu : std::uint8_t { volta, turing, ampere, pascal_gp100, pascal_gp104, hopper };
inline constexpr std::array<std::string_view, 6> kCublasGpuNames = {"volta",        "turing",       "ampere",
                                                                    "pascal_gp100", "pascal_gp104", "hopper"};
struct CublasNets {
  std::array<KernelNets, kCublasGpuNames.size()> linear, batched;
};
Result<CublasNets> parse_cublas_nets(std::string_view text);

// The embedded file, parsed once; thread-safe.
const CublasNets& cublas_nets();

}  // namespace tilecast
