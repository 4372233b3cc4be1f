#include "kernel/cublas_wgmma.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "constants/product.h"

namespace tilecast {

using namespace constants::wgmma_choice;  // the cost of a tile in clocks, as the choices reveal it

namespace {

constexpr int kMostSplit = 16;
// Tiles that would need more rounds than these are never chosen; skipping them saves half of the search.
constexpr Count kMostRounds = 24, kMostNarrowRounds = 3;

// Rows of the wgmma side and the most columns that accumulators and stages leave room for.
struct Rows {
  int rows, most_columns;
};
constexpr std::array<Rows, 7> kRows = {
    {{64, 256}, {128, 304}, {192, 208}, {256, 160}, {320, 128}, {384, 104}, {512, 64}}};
constexpr int kMostSwappedRows = 256;
constexpr double kSurely = 1 - 1e-9;  // more than the rounding of a few products
constexpr std::array<int, 8> kColumns = {8, 16, 32, 48, 64, 96, 128, 192};
// In addition, the columns with which the tiles just fill this many rounds of the SMs.
constexpr std::array<double, 7> kFills = {8.0 / 11, 10.0 / 11, 1, 2, 3, 4, 5};

Count cluster_room(const Gpu& gpu) { return Count{gpu.sms} * 10 / 11 / 4 * 4; }

class Search {
 public:
  Search(const GemmProblem& p, const MathPath& math, const Gpu& gpu, bool batched)
      : p_(p),
        sms_(gpu.sms),
        round_of_a_tile_(kSurely / gpu.sms),
        cluster_room_(cluster_room(gpu)),
        depth_(step_depth(math)),
        steps_(ceil_div(p.k, depth_)),
        clocks_per_result_(2.0 * depth_ / (math.ops_per_clock * kEfficiency)),
        clocks_per_l2_byte_(1 / (in_bytes(gpu.l2.per_clock) * kL2Efficiency)),
        row_bytes_(depth_ * bits_of(math.input) / 8.0),
        split_clocks_(static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) * kSplitBytes *
                      clocks_per_l2_byte_),
        most_split_(batched ? 1 : static_cast<int>(std::min<Count>(kMostSplit, steps_ / kLeastSteps))) {
    for (std::size_t i = 0; i < kFills.size(); ++i)
      rooms_[i] = static_cast<Count>(kFills[i] * static_cast<double>(sms_) + 0.5);
  }

  // Tries the tile that most large products use first, so that hopeless ones are rejected early. Whether it is the
  // best, and the first of equals, is left to the search itself.
  void aim() {
    constexpr int kUsualRows = 192, kUsualColumns = 192;
    if (p_.m <= kUsualRows - 64 || p_.n <= kUsualColumns - 8) return;  // not among those searched
    attempt({kUsualRows, p_.batch * ceil_div(p_.m, kUsualRows), p_.n, true}, kUsualColumns);
    least_ /= kSurely;
  }

  void over_rows(bool swapped) {
    const Count along = swapped ? p_.m : p_.n, across = swapped ? p_.n : p_.m;
    for (const Rows& side : kRows) {
      if (swapped && side.rows > kMostSwappedRows) break;
      if (side.rows > 64 && side.rows - 64 >= along) break;
      const Count lines = p_.batch * ceil_div(along, side.rows);
      if (prune && side.rows <= 128 && lines * across > kMostRounds * sms_ * side.most_columns) continue;
      if (prune && results_clocks(static_cast<double>(lines * across) * side.rows) >= least_) continue;
      over_columns({side.rows, lines, across, swapped}, side.most_columns, std::make_index_sequence<kColumns.size()>());
    }
  }

  int tile_m = 0, tile_n = 0, split = 1;
  bool prune = true;  // leave out tiles that would need very many rounds

 private:
  // `lines` of adjacent tiles, each over `across` columns of the result.
  struct Lines {
    int rows;
    Count lines, across;
    bool swapped;
  };

  template <std::size_t... kIndex>
  void over_columns(const Lines& side, int most_columns, std::index_sequence<kIndex...>) {
    (attempt_listed<kColumns[kIndex]>(side, most_columns), ...);
    const Count cells = side.lines * side.across;
    if (rooms_.back() * most_columns < cells) return;  // not even the widest fill so few rounds
    Count last = 0;
    for (const Count room : rooms_) {
      if (room < side.lines || room * most_columns < cells) continue;
      const Count columns = round_up(ceil_div(side.across, room / side.lines), 8);
      if (columns > most_columns || columns == last) continue;
      last = columns;
      attempt(side, static_cast<int>(columns));
    }
  }

  // Dividing by a width known here needs no division instruction.
  template <int kWidth>
  void attempt_listed(const Lines& side, int most_columns) {
    if (kWidth > most_columns || (kWidth > 8 && kWidth - 8 >= side.across)) return;
    if (kWidth < 64 && prune && side.lines * side.across > kMostNarrowRounds * sms_ * kWidth) return;
    consider(side, kWidth, side.lines * ceil_div(side.across, kWidth));
  }
  void attempt(const Lines& side, int columns) { consider(side, columns, side.lines * ceil_div(side.across, columns)); }

  struct Step {
    double tile_bytes, fed;  // what it loads, and its clocks were L2 never in the way
    double factor;           // on the clocks of the whole
  };

  // If L2 were never a limit, neither the whole tile nor any split of it would take less than this, so most need no
  // closer look.
  [[gnu::always_inline]] void consider(const Lines& side, int columns, Count tiles) {
    const double work = side.rows * std::max<double>(columns, kLeastColumns) * clocks_per_result_;
    const double tile_bytes = (side.rows + columns) * row_bytes_;
    const double fed = std::max(work, tile_bytes * (1 / kFeed));
    double factor = columns % 32 != 0 ? kOddColumns : columns % 64 != 0 ? (1 + kOddColumns) / 2 : 1;
    if (columns > 128) factor *= kWide;
    if (side.swapped) factor *= side.rows >= 256 ? kSwapped * kSwappedTall : kSwapped;
    const double results = 1.0 * side.rows * columns;
    const double all_steps = static_cast<double>(steps_) * step_of(fed);
    const auto more_rounds = static_cast<double>(static_cast<Count>(static_cast<double>(tiles) * round_of_a_tile_));
    const auto hopeless = [&](double clocks) { return (clocks + results * kEpilogue) * factor * kSurely >= least_; };
    const bool whole = !hopeless(all_steps + more_rounds * (all_steps + results * kNextEpilogue));
    const bool in_parts = most_split_ > 1 && 2 * tiles <= sms_ && !hopeless(split_at_least(all_steps));
    if (whole || in_parts)
      look_closer(side, columns, tiles, {tile_bytes, fed, factor}, whole ? 1 : 2, in_parts ? most_split_ : 1);
  }

  [[gnu::noinline]] void look_closer(const Lines& side, int columns, Count tiles, const Step& alone, int fewest_parts,
                                     int most_parts) {
    const double results = 1.0 * side.rows * columns;
    for (int parts = fewest_parts; parts <= most_parts; ++parts) {
      const Count units = tiles * parts;
      if (parts > 1 && units > sms_) break;
      const double busy = static_cast<double>(std::min(units, sms_)) * clocks_per_l2_byte_;
      const double l2 = alone.tile_bytes * (units <= cluster_room_ ? kClusterShare : kPairShare) * busy;
      const double step = step_of(std::max(alone.fed, l2));
      const double rounds = units <= sms_ ? 1 : static_cast<double>(ceil_div(units, sms_));
      double clocks = rounds * static_cast<double>(parts == 1 ? steps_ : ceil_div(steps_, parts)) * step +
                      results * (kEpilogue + (rounds - 1) * kNextEpilogue);
      if (parts > 1) clocks += kSplitClocks + parts * split_clocks_;
      clocks *= alone.factor;
      if (side.swapped) clocks += kSwappedClocks;
      if (clocks >= least_) continue;
      least_ = clocks;
      tile_m = side.swapped ? side.rows : columns;
      tile_n = side.swapped ? columns : side.rows;
      split = parts;
    }
  }

  // Clocks for this many results, counting only multiplying and storing them.
  double results_clocks(double results) const {
    constexpr double kLeastFactor = kWide.value * kSwapped.value * kSurely;
    return results * round_of_a_tile_ * (static_cast<double>(steps_) * clocks_per_result_ + kNextEpilogue) *
           kLeastFactor;
  }
  // Clocks of the best split of a tile: more parts have fewer steps each and more to add up.
  double split_at_least(double all_steps) const {
    const double most = most_split_;
    const double shared = all_steps > most * most * split_clocks_ ? all_steps / most + most * split_clocks_
                                                                  : 2 * std::sqrt(all_steps * split_clocks_);
    return shared + kSplitClocks;
  }
  static double step_of(double loaded) {
    return std::max<double>(loaded, kStepClocks) + kStepOverlap * std::min<double>(loaded, kStepClocks);
  }

  const GemmProblem& p_;
  Count sms_;
  double round_of_a_tile_;
  Count cluster_room_;
  int depth_;
  Count steps_;
  double clocks_per_result_, clocks_per_l2_byte_, row_bytes_, split_clocks_;
  int most_split_;
  std::array<Count, kFills.size()> rooms_{};  // SMs of whole rounds, and of the shares that clusters leave
  double least_ = std::numeric_limits<double>::infinity();
};

// Stages that fit beside the epilogue's buffer, as the names have them (256x128: 4, 64x64: 13, 64x8: 16).
int stages_for(int tile_m, int tile_n, const Gpu& gpu) {
  const double room = in_bytes(gpu.shared_memory.per_cta) - 16 * 1024;
  return static_cast<int>(std::clamp(room / ((tile_m + tile_n) * 128.0), 2.0, 16.0));
}

}  // namespace

bool takes_wgmma(const GemmProblem& p, const MathPath& math, const Gpu& gpu) {
  if (gpu.tensor_generation() != TensorGeneration::wgmma || math.pipe != Pipe::tensor) return false;
  if (bits_of(math.input) > 16) return false;  // tf32 and fp64 run kernels of another kind
  return p.n % 8 == 0 && p.k * bits_of(math.input) % 128 == 0;
}

CtaCluster cluster_for(const GemmProblem& p, int tile_m, int tile_n, int split, const Gpu& gpu) {
  static constexpr std::array<CtaCluster, 4> kLarge = {{{1, 4}, {4, 1}, {4, 2}, {2, 4}}};
  static constexpr std::array<CtaCluster, 2> kPairs = {{{1, 2}, {2, 1}}};
  const Count tiles_m = ceil_div(p.m, tile_m), tiles_n = ceil_div(p.n, tile_n);
  CtaCluster best;
  Count fewest = std::numeric_limits<Count>::max();
  double least = std::numeric_limits<double>::infinity();
  // Tiles that only fill up clusters must not cost another round.
  const auto attempt = [&](CtaCluster c, Count room) {
    const Count units = round_up(tiles_m, c.m) * round_up(tiles_n, c.n) * p.batch * split;
    if (units > room) return;
    const Count rounds = ceil_div(units, Count{gpu.sms});
    const double asked = (1.0 * tile_m / c.n + 1.0 * tile_n / c.m) * static_cast<double>(units);
    if (rounds < fewest || (rounds == fewest && asked < least)) fewest = rounds, least = asked, best = c;
  };
  for (const CtaCluster& c : kLarge) attempt(c, cluster_room(gpu));
  if (least == std::numeric_limits<double>::infinity())
    for (const CtaCluster& c : kPairs) attempt(c, std::numeric_limits<Count>::max());
  return best;
}

GemmChoice choose_wgmma(const GemmProblem& p, const MathPath& math, const Gpu& gpu, bool batched) {
  Search search(p, math, gpu, batched);
  search.aim();
  search.over_rows(false);
  search.over_rows(true);
  if (search.tile_m == 0) {  // few tokens and a very wide result: every tile needs many rounds
    search.prune = false;
    search.over_rows(false);
    search.over_rows(true);
  }
  const CtaCluster cluster = cluster_for(p, search.tile_m, search.tile_n, search.split, gpu);
  GemmChoice choice;
  // One warp group issues loads, two multiply; 168 registers per thread on average. 64 rows per wgmma, the whole of the
  // other side.
  const bool tokens_are_rows = search.tile_m % 64 == 0 && search.tile_n % 64 != 0;
  choice.tile = {search.tile_m,
                 search.tile_n,
                 384,
                 168,
                 1,
                 tokens_are_rows ? 64 : search.tile_m,
                 tokens_are_rows ? search.tile_n : 64};
  choice.split = search.split;
  choice.tile_k = step_depth(math);
  choice.stages = stages_for(search.tile_m, search.tile_n, gpu);
  choice.cluster_m = cluster.m;
  choice.cluster_n = cluster.n;
  choice.persistent = true;
  return choice;
}

}  // namespace tilecast
