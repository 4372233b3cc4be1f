#include "lab/evaluate/agreement.h"

#include <fmt/format.h>
#include <zlib.h>

#include <map>
#include <tuple>

#include "kernel/gemm.h"

namespace tilecast {
namespace {

// How many tiles of the measured size cover the result.
Count result_tiles(const Measurement& row) {
  const Observed& seen = row.observed;
  const auto tiles = [&](Count batch, Count m, Count n) {
    return batch * ceil_div(m, seen.tile_m) * ceil_div(n, seen.tile_n);
  };
  if (const auto* gemm = row.kernel.shape.get_if<Gemm>()) return tiles(1, gemm->m, gemm->n);
  if (const auto* bmm = row.kernel.shape.get_if<Bmm>()) return tiles(bmm->batch, bmm->m, bmm->n);
  return 0;
}

bool same_tile(const Observed& seen, const Outcome& planned) {
  return seen.tile_m == planned.tile_m && seen.tile_n == planned.tile_n;
}

}  // namespace

Count observed_split(const Measurement& row) {
  if (!row.observed.has_grid() || !row.observed.has_tile()) return 0;
  const Count tiles = result_tiles(row);
  if (tiles == 0 || row.observed.ctas % tiles != 0) return 0;
  return row.observed.ctas / tiles;
}

bool plan_was_fitted(const Measurement& row) {
  if (row.source != "neusight-train") return false;
  std::string key;
  if (const auto* gemm = row.kernel.shape.get_if<Gemm>())
    key = fmt::format("linear_1_{}_{}_{}", gemm->m, gemm->k, gemm->n);
  else if (const auto* bmm = row.kernel.shape.get_if<Bmm>())
    key = fmt::format("bmm_{}_{}_{}_{}", bmm->batch, bmm->m, bmm->k, bmm->n);
  else return false;
  return crc32(0, reinterpret_cast<const Bytef*>(key.data()), static_cast<uInt>(key.size())) % 10 != 0;
}

std::vector<Agreement> compare_launches(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes) {
  std::map<std::tuple<std::string, std::string, std::string>, Agreement> found;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Measurement& row = rows[i];
    const Outcome& planned = outcomes[i];
    if (!row.observed.has_grid() || planned.failed) continue;
    const std::string source = std::string(row.source) + (plan_was_fitted(row) ? ", fitted on" : "");
    const std::tuple key(source, std::string(family_of(row.kernel.shape)), std::string(row.gpu));
    Agreement& group = found[key];
    ++group.grids;
    if (row.observed.ctas == planned.ctas) ++group.grids_equal;
    // The name of a convolution or of an AMD kernel does not give a tile of the result.
    if (!row.observed.has_tile() || observed_split(row) == 0) continue;
    ++group.tiles;
    if (!same_tile(row.observed, planned)) continue;
    ++group.tiles_equal;
    if (observed_split(row) == planned.split) ++group.splits_equal;
  }
  std::vector<Agreement> list;
  for (auto& [key, group] : found) {
    std::tie(group.source, group.family, group.gpu) = key;
    list.push_back(std::move(group));
  }
  return list;
}

}  // namespace tilecast
