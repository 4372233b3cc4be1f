// What the forecaster says of a shape that was recorded.
#include <algorithm>

#include "diagnose/diagnose.h"
#include "estimate/price.h"
#include "kernel/moe.h"
#include "tune/rank.h"

namespace tilecast {
namespace {

// How the measurements that taught the forecaster name the libraries.
KernelSource source_of(std::string_view library) {
  if (library == "cuBLAS") return KernelSource::cublas;
  if (library == "FlashAttention") return KernelSource::flash_attention_2;
  if (library == "cuDNN") return KernelSource::cudnn;
  if (library == "PyTorch") return KernelSource::torch;
  return {};
}

Context context_of(const Kernel& kernel, std::string_view library, const ModelSource* weights) {
  Context context;
  const FamilyModel* model = weights ? weights->find(kernel) : nullptr;
  if (const KernelSource source = source_of(library); model && !source.empty()) {
    const std::vector<std::string> engines = engines_of(*model);
    if (std::find(engines.begin(), engines.end(), "pytorch") != engines.end()) {
      context.engine = Launcher::pytorch;
      context.kernel_source = source;
    }
  }
  return context;
}

Resource resource_of(std::string_view limit) {
  constexpr std::pair<std::string_view, Resource> kLimits[] = {{"tensor", Resource::tensor},
                                                               {"shared memory", Resource::shared},
                                                               {"instructions", Resource::vector},
                                                               {"L2", Resource::l2},
                                                               {"latency", Resource::latency}};
  for (const auto& [name, resource] : kLimits)
    if (name == limit) return resource;
  return Resource::dram;
}

// Measured over forecast of vLLM's default configuration, 80 % of the 64 shapes of
// data/measurements/h200_fused_moe_again.csv.gz (H200, bf16). Nothing of the kind was measured on other cards.
constexpr double kTunerLow = 0.84, kTunerHigh = 1.04;

// The two products of a fused MoE as Triton's kernel runs them, without the sorting, activation and summing that the
// learned forecast of a whole layer counts in: forecast with the engine's default configuration, ceiling with the best
// one. `whole` is the layer's estimate.
std::optional<Comparison> compare_tiles(const ReadShape& shape, const Estimate& whole, const Gpu& gpu,
                                        const ModelSource* weights) {
  const Moe& moe = shape.kernel.shape.as<Moe>();
  const Format& format = shape.kernel.format;
  const auto ranked = rank_fused_moe(moe, format, gpu, triton_configs(format, gpu));
  if (!ranked) return std::nullopt;
  const TritonConfig standard = vllm_default(moe, format, math_path(format, gpu)->input);
  const auto by_default = rank_fused_moe(moe, format, gpu, {&standard, 1});
  const RankedConfig& launched = by_default ? by_default->front() : ranked->front();
  Comparison found{shape.kernel, shape.from, launched.forecast, {}, {}, {}, {}, whole.seen, CeilingOrigin::tuner};
  for (const MoePass pass : {MoePass::up, MoePass::down}) {
    if (moe.pass != MoePass::both && moe.pass != pass) continue;
    Moe one = moe;
    one.pass = pass;
    const auto priced = price({one, format}, gpu, {}, Method::tilecast, weights);
    if (!priced) return std::nullopt;
    found.bound += priced->estimate.bound;
  }
  found.ceiling = std::max(found.bound, ranked->front().forecast);
  found.forecast = std::max(found.forecast, found.ceiling);
  found.interval = {std::max(found.bound, found.forecast * kTunerLow), found.forecast * kTunerHigh};
  found.limited_by =
      resource_of(std::max_element(launched.passes.begin(), launched.passes.end(), [](const auto& a, const auto& b) {
                    return a.total < b.total;
                  })->limit);
  return found;
}

}  // namespace

std::optional<Comparison> compare(const ReadShape& shape, std::string_view library, const Gpu& gpu,
                                  const ModelSource* weights) {
  const auto priced = price(shape.kernel, gpu, context_of(shape.kernel, library, weights), Method::tilecast, weights);
  if (!priced) return std::nullopt;
  const Estimate& e = priced->estimate;
  const auto* moe = shape.kernel.shape.get_if<Moe>();
  if (moe && moe->style == MoeStyle::triton && library == "Triton")
    if (auto tiles = compare_tiles(shape, e, gpu, weights)) return tiles;
  const bool learned = weights && weights->find(shape.kernel, gpu);
  return Comparison{shape.kernel,
                    shape.from,
                    e.latency,
                    learned ? e.ceiling : e.latency,
                    e.bound,
                    e.interval,
                    e.limited_by,
                    e.seen,
                    learned ? CeilingOrigin::kernels : CeilingOrigin::forecast};
}

}  // namespace tilecast
