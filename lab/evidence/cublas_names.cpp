#include "lab/evidence/cublas_names.h"

#include <charconv>

namespace tilecast {
namespace {

// "256x128" at the front of `text`, which moves past it and the underscore behind.
bool take_pair(std::string_view& text, int& a, int& b) {
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, a);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != 'x') return false;
  const auto second = std::from_chars(first.ptr + 1, end, b);
  if (second.ec != std::errc{} || second.ptr == end || *second.ptr != '_') return false;
  text.remove_prefix(static_cast<std::size_t>(second.ptr + 1 - text.data()));
  return true;
}

}  // namespace

std::optional<NvjetKernel> parse_nvjet(std::string_view name) {
  constexpr std::string_view kPrefix = "nvjet_sm90_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const auto types = name.find('_');
  if (types == std::string_view::npos) return std::nullopt;
  name.remove_prefix(types + 1);
  NvjetKernel kernel;
  if (!take_pair(name, kernel.tile_n, kernel.tile_m) || !take_pair(name, kernel.depth, kernel.stages) ||
      !take_pair(name, kernel.cluster_n, kernel.cluster_m))
    return std::nullopt;
  if (kernel.tile_m < 1 || kernel.tile_n < 1 || kernel.depth < 1 || kernel.cluster_m < 1 || kernel.cluster_n < 1)
    return std::nullopt;
  kernel.split_k = name.find("_splitK") != std::string_view::npos;
  return kernel;
}

int observed_split(const NvjetKernel& kernel, const GemmProblem& p, Count ctas) {
  if (!kernel.split_k) return 1;
  const Count tiles = p.batch * round_up(ceil_div(p.m, kernel.tile_m), kernel.cluster_m) *
                      round_up(ceil_div(p.n, kernel.tile_n), kernel.cluster_n);
  return ctas % tiles == 0 ? static_cast<int>(ctas / tiles) : 0;
}

std::optional<GemmChoice> imposed_choice(GemmChoice ours, const NvjetKernel& kernel, const GemmProblem& p, Count ctas) {
  const int split = observed_split(kernel, p, ctas);
  if (split == 0) return std::nullopt;
  ours.tile = {kernel.tile_m, kernel.tile_n, 384, 168, 1, 64, 64};
  ours.split = split;
  ours.tile_k = kernel.depth;
  ours.stages = kernel.stages;
  ours.cluster_m = kernel.cluster_m;
  ours.cluster_n = kernel.cluster_n;
  ours.persistent = true;
  return ours;
}

double padded_operations(const GemmProblem& p, int tile_m, int tile_n, int depth, int split) {
  const Count steps = ceil_div(ceil_div(p.k, depth), split) * split;
  return 2.0 * static_cast<double>(p.batch) * static_cast<double>(round_up(p.m, tile_m)) *
         static_cast<double>(round_up(p.n, tile_n)) * static_cast<double>(steps * depth);
}

}  // namespace tilecast
