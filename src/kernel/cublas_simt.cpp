#include "kernel/cublas_simt.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "constants/product.h"
#include "kernel/cublas_nets.h"
#include "kernel/pipeline.h"

namespace tilecast {

using namespace constants;

namespace {

// Linear rows of GP104 come from runs at a quarter of its rate, in kernels that its other runs do not use
// (measure/traps.h), so the choice of T4, a card of similar size, is used there.
CublasGpu fitted_gpu(const Gpu& gpu, bool batched) {
  switch (gpu.architecture) {
    case Architecture::pascal:
      if (gpu.compute_capability == "6.0") return CublasGpu::pascal_gp100;
      return batched ? CublasGpu::pascal_gp104 : CublasGpu::turing;
    case Architecture::volta: return CublasGpu::volta;
    case Architecture::turing: return CublasGpu::turing;
    case Architecture::hopper:
    case Architecture::blackwell: return CublasGpu::hopper;
    default: return CublasGpu::ampere;
  }
}

float log2_of(Count n) { return std::log2(static_cast<float>(n)); }

// Written so that the compiler emits min and max instructions, not branches.
inline float clip(float x, float least, float most) {
  x = x < least ? least : x;
  return most < x ? most : x;
}

// How full the last wave is, from -2 (nearly empty) to 1 (full). More than a million waves count as full.
inline Lanes fill(Lanes waves) {
  typedef int Whole __attribute__((vector_size(16)));
  const Lanes most = {1e6F, 1e6F, 1e6F, 1e6F}, one = {1, 1, 1, 1}, none = {};
  waves = waves < most ? waves : most;
  const Lanes whole = __builtin_convertvector(__builtin_convertvector(waves, Whole), Lanes);
  return 3 * waves / (whole + (whole < waves ? one : none)) - 2;
}

// What the networks see of a problem on a GPU: problem_features in tools/plans/fit_cublas_fp32.py.
struct View {
  View(const GemmProblem& p, int sms)
      : sms(static_cast<float>(sms)), log_sms(std::log2(this->sms)), log_results(log2_of(p.m) + log2_of(p.n)) {
    const float log_batch = log2_of(p.batch);
    rows = (clip(log2_of(p.m), 3.0F, 13.0F) - log_sms / 2) / 2 - 2;
    columns = (clip(log2_of(p.n), 3.0F, 16.0F) - log_sms / 2) / 2 - 2.5F;
    depth = clip(log2_of(p.k), 2.0F, 16.0F) / 2 - 5;
    log_all_results = log_results + log_batch;
    linear[0] = Lanes{1, rows, depth, columns};
    linear[1] = Lanes{rows * rows, depth * depth, columns * columns, rows * depth};
    linear[2] = Lanes{rows * columns, depth * columns, log_batch / 3 - 2, 0};
    const Lanes resident = {1, 2, 3, 4};
    slots = resident * this->sms;
  }
  float sms, log_sms;
  float log_results, log_all_results;  // of one product, of the batch
  float rows, columns, depth;
  Lanes slots;  // of 1 to 4 CTAs on an SM
  ProblemFeatures linear;
};

// Hidden units before the split is known.
HiddenUnits tiling_units(const KernelNet& net, const View& view, float tiles, float log_waves) {
  const float padding = 2 * (log_waves + view.log_sms + net.log_area - view.log_all_results);
  const Lanes fills = fill(tiles / view.slots);
  const std::array<float, kTilingFeatures> f = {
      clip(log_waves, -6, 8) / 2, view.depth, view.rows, view.columns, padding, fills[0], fills[1], fills[3]};
  HiddenUnits units = net.bias;
  for (std::size_t i = 0; i < kTilingFeatures; ++i)
    for (std::size_t j = 0; j < units.size(); ++j) units[j] += f[i] * net.by_problem[i][j];
  return units;
}

float score(const KernelNet& net, const SplitNet& s, const View& view, const HiddenUnits& tiling, float tiles,
            float log_waves, bool fits) {
  const Lanes fills = fill(tiles * static_cast<float>(s.split) / view.slots);
  const float launch = clip(log_waves + s.log_split, -6, 9) / 2;
  const float partials = clip(view.log_results + s.log_split - 18, -4, 4) / 2;
  const HiddenUnits& own = fits ? s.fitting : s.exceeding;
  const auto& w = net.by_launch;
  Lanes sum = {};
  for (std::size_t i = 0; i < view.linear.size(); ++i) sum += s.linear[i] * view.linear[i];
  for (std::size_t j = 0; j < tiling.size(); ++j) {
    const Lanes unit = tiling[j] + own[j] + launch * w[0][j] + partials * w[1][j] + fills[0] * w[2][j] +
                       fills[1] * w[3][j] + fills[2] * w[4][j] + fills[3] * w[5][j];
    sum += net.output[j] * (unit > 0 ? unit : Lanes{});
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

struct Candidate {
  float score;
  const KernelNet* net;
  int split;
};

class Candidates {
 public:
  void add(Candidate candidate) { items_[count_++] = candidate; }
  const Candidate* begin() const { return items_.data(); }
  const Candidate* end() const { return items_.data() + count_; }

 private:
  std::array<Candidate, kMostCandidates> items_;
  std::size_t count_ = 0;
};

// First the likeliest tile over all its kernels and splits, then the best of those, which is how the accuracy is
// counted.
Candidate likeliest(const Candidates& all, const KernelNets& nets) {
  constexpr float kNegligible = 12;  // e^-12 of the best
  const auto less = [](const Candidate& a, const Candidate& b) { return a.score < b.score; };
  const float best = std::max_element(all.begin(), all.end(), less)->score;
  std::array<float, kMostKernels> share{};
  for (const Candidate& c : all)
    if (c.score > best - kNegligible) share[c.net->group] += std::exp(c.score - best);
  const auto group = static_cast<std::size_t>(
      std::max_element(share.begin(), share.begin() + static_cast<std::ptrdiff_t>(nets.size())) - share.begin());
  Candidate chosen{-INFINITY, nullptr, 1};
  for (const Candidate& c : all)
    if (c.net->group == group && c.score > chosen.score) chosen = c;
  return chosen;
}

GemmTile tile_of(const KernelNet& net) {
  // Results a thread accumulates; where a CTA's warps share the reduction, four hold parts of the same one. Registers
  // for them, the operand fragments and addresses: about the 122 to 126 of the 64-result kernels and 64 of the small
  // ones. Warps cover a block of results near a square.
  const int results = net.tile_m * net.tile_n * (net.sliced ? 4 : 1) / net.threads;
  const int registers = 40 + results * 4 / 3;
  const int block_m = results >= 32 ? 32 : 16, block_n = 32 * results / block_m;
  const int resident = std::clamp(65536 / (net.threads * registers), 1, 4);
  return {net.tile_m, net.tile_n, net.threads, registers, resident, block_m, block_n};
}

// Results that a kernel's tiles of one product cover, those beyond its edges among them.
double covered(const GemmProblem& p, const KernelNet& net) {
  return static_cast<double>(ceil_div(p.m, net.tile_m) * net.tile_m) *
         static_cast<double>(ceil_div(p.n, net.tile_n) * net.tile_n);
}

// Rows that were fitted to have no fewer than three rows or columns: of fewer, tiles that lie across the result were
// guessed, sixteen times as much work. None of a layer is by far the emptiest on these GPUs.
double most_covered(const GemmProblem& p, CublasGpu gpu, bool batched, const KernelNets& nets) {
  const bool sparing = gpu == CublasGpu::volta || gpu == CublasGpu::turing || gpu == CublasGpu::ampere;
  if (batched || !sparing) return INFINITY;
  double least = INFINITY;
  for (const KernelNet& net : nets) least = std::min(least, covered(p, net));
  return least * kMostCovered;
}

}  // namespace

GemmChoice choose_simt(const GemmProblem& p, bool batched, const Gpu& gpu) {
  const CublasNets& fitted = cublas_nets();
  const CublasGpu kernels = fitted_gpu(gpu, batched);
  const KernelNets& nets = (batched ? fitted.batched : fitted.linear)[static_cast<std::size_t>(kernels)];
  const View view(p, gpu.sms);
  const double results = static_cast<double>(p.m) * static_cast<double>(p.n);
  const double most = most_covered(p, kernels, batched, nets);
  Candidates candidates;
  for (const KernelNet& net : nets) {
    if (covered(p, net) > most) continue;
    const auto tiles = static_cast<float>(p.batch) * static_cast<float>(ceil_div(p.m, net.tile_m)) *
                       static_cast<float>(ceil_div(p.n, net.tile_n));
    const float log_waves = std::log2(tiles) - view.log_sms;
    const HiddenUnits tiling = tiling_units(net, view, tiles, log_waves);
    for (const SplitNet& s : net.splits) {
      if (s.split > 1 && Count{s.split} * net.tile_k > p.k) break;  // CTAs without work
      const bool fits = results * s.split <= static_cast<double>(kWorkspaceFloats);
      candidates.add({score(net, s, view, tiling, tiles, log_waves, fits), &net, s.split});
    }
  }
  const Candidate best = likeliest(candidates, nets);
  GemmChoice choice;
  choice.tile = tile_of(*best.net);
  choice.split = best.split;
  choice.tile_k = best.net->tile_k;
  choice.stages = 2;  // double-buffered: 12 KiB of shared memory for 128 x 64
  choice.reduction_kernel = results * best.split <= static_cast<double>(kWorkspaceFloats);
  if (kernels == CublasGpu::hopper) {
    choice.stages = 3;
    choice.past_registers = true;
    choice.latency_steps = gpu.tuned(kLaterStepClocks) / pipeline_latency(gpu).step_clocks;
    choice.result_slots = gpu.tuned(kLaterResultSlots);
  }
  return choice;
}

}  // namespace tilecast
