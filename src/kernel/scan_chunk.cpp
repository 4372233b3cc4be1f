// Chunked scans: flash-linear-attention's kernels for the gated delta rule and KDA (one launch per stage, or fused into
// one as in FlashInfer and FlashKDA), and Mamba-2's SSD.
//
// With chunks of C tokens, K key and V value elements a head, and the state S (K x V), a head's chunk costs
//   delta rule:  K K^T            2 C C K          w = T K, u = T V   2 C C (K + V)      T = (I + tril(K K^T))^-1  2/3
//   C^3
//                v' = u - w S     2 C K V          S += K^T v'        2 C K V
//                Q S              2 C K V          (Q K^T) v'         2 C C (K + V)
//   SSD:         B C^T per group  2 C C K          B^T x              2 C K V
//                C S              2 C K V          (C B^T) x          C C V (causal half)
// The products with S are the same for every chunk length; without an initial state, a short sequence does not need
// them.
#include <algorithm>

#include "constants/scan.h"
#include "kernel/scan_parts.h"

namespace tilecast {
namespace {

constexpr double kGateBytes = 4;  // cumulated gates are fp32
// Values a program takes: chunk_delta_h.py and chunk_o.py autotune 32 to 128, ssd_chunk_*.py 32 to 256; the middle.
constexpr Count kValues = 64;
constexpr Count kSsdTile = 64;
// Tiles of 64 x 64 to 128 in registers of four warps: four fit an SM.
constexpr Count kCopyBytes = 8192;  // of a helper's CTA
constexpr Count kNormRows = 16;     // rows of a program in l2norm.py
constexpr int kTileRegisters = 128, kStreamRegisters = 64;
// solve_tril.py inverts diagonal blocks of 16 rows, row after row, each row loaded when the one before is done.
constexpr Count kSolvedRows = 16;
constexpr Count kLeastChunk = 16, kChunk = 64;

// One stage: `count` equal tasks, with the demand of each.
struct Stage {
  std::string_view name;
  Count count;
  int threads;
  double tensor, load, store;  // per task: operations, bytes
  double slots = 0, xu = 0;
  double trips = 1;  // loads that wait for each other
  double shared_kib = 32;
};

Launch stage_launch(const Stage& stage, const MathPath& math, std::initializer_list<Operand> operands) {
  Launch launch;
  launch.name = stage.name;
  launch.character = Character::scan;
  launch.math = math;
  launch.ctas = stage.count;
  launch.cta = {stage.threads, stage.tensor > 0 ? kTileRegisters : kStreamRegisters, kibibytes(stage.shared_kib)};
  Demand each;
  each.tensor = ops(stage.tensor);
  each.vector = ops(2 * stage.slots);
  each.xu = ops(stage.xu);
  each.l2_load = bytes(stage.load);
  each.l2_store = bytes(stage.store);
  each.shared = bytes(2 * stage.load);  // operands of products pass shared memory on the way in and to the pipe
  launch.tasks = {{stage.count, each, stage.trips}};
  launch.plan_known = false;  // tiles are autotuned
  for (const Operand& operand : operands) launch.operands.add(operand);
  return launch;
}

// Chunks of all sequences; the last of each may be partial and is padded.
struct Chunks {
  Count per_sequence, all;
  double size;
};
Chunks chunks_of(const ScanSizes& z) {
  const Count per_sequence = ceil_div(z.length, z.chunk);
  return {per_sequence, per_sequence * static_cast<Count>(z.batch), static_cast<double>(z.chunk)};
}

// Tensor operations that no chunking can avoid: `products` multiplications with the state per token. Without an initial
// state a sequence may instead be one chunk of `quadratic` operations per pair of tokens.
double certain_ops(const Scan& s, const ScanSizes& z, double products, double quadratic) {
  const double by_state = 2 * products * z.key * z.value;
  const double per_token = s.carry ? by_state : std::min(by_state, quadratic * static_cast<double>(z.length));
  return per_token * z.tokens * z.heads;
}

double gate_bytes(const Scan& s, const ScanSizes& z, double element) {
  return z.tokens * z.heads * (s.kda() ? z.key : 1) * element;
}

// The state at both ends, where it is carried.
void add_state(Launch& launch, const Scan& s, const ScanSizes& z) {
  if (s.carry) launch.operands.add(updates("state", z.state_bytes()));
}

// What surrounds a fused kernel: norms of queries and keys, and the state copied from its pool and back.
void add_helpers(Plan& plan, const Scan& s, const ScanSizes& z, const MathPath& math, const Gpu& gpu) {
  const bool blackwell = gpu.tensor_generation() == TensorGeneration::tcgen05;
  const int helpers = s.kda()     ? constants::kFusedHelpersKda
                      : blackwell ? constants::kFusedHelpersTcgen
                                  : constants::kFusedHelpers;
  const double trips = gpu.tuned(constants::kStageTrips);
  for (int i = 0; i < helpers; ++i) {
    const bool copies = i < 2 && s.carry && (blackwell || s.kda());
    const double size = copies ? z.state_bytes() : i == 2 ? 2 * z.qk_bytes() : z.tokens * z.heads * kGateBytes;
    const Count ctas = std::max<Count>(1, static_cast<Count>(size) / kCopyBytes);
    const double share = size / static_cast<double>(ctas);
    plan.launches.push_back(stage_launch({"helper", ctas, 128, 0, share, share, share / kGateBytes, 0, trips, 0}, math,
                                         {rereads("helped", size), scratch("helped", size)}));
  }
}

// FlashKDA prepares every chunk in a separate kernel: queries and keys with their gates, and the inverse.
double prepared_bytes(const Scan& s, const ScanSizes& z) {
  return s.kda() ? z.tokens * z.heads * (3 * z.key + 2 * static_cast<double>(z.chunk)) * z.element : 0;
}

Plan fused_delta_plan(const Scan& s, const ScanSizes& z, const MathPath& math, const Gpu& gpu) {
  const Chunks chunks = chunks_of(z);
  const double c = chunks.size, k = z.key, v = z.value, n = static_cast<double>(chunks.per_sequence);
  const double gates = s.kda() ? k : 1, trips = gpu.tuned(constants::kStageTrips);
  const double state = s.carry ? k * v * z.state_element : 0, prepared = prepared_bytes(s, z);
  const double whole = n * c * (2 * k + v + gates + 1) * z.element;
  const Count sequences = static_cast<Count>(z.batch * z.heads), tiles = sequences * chunks.per_sequence;
  const double per_head = prepared / static_cast<double>(sequences);
  Plan plan;
  const Stage stage{"chunk_delta_fused",
                    sequences,
                    384,
                    n * (6 * c * k * v + 2 * c * c * (3 * k + 2 * v) + 2.0 / 3 * c * c * c),
                    (s.kda() ? n * c * v * z.element + per_head : whole) + state,
                    n * c * v * z.element + state,
                    n * c * (4 * c + 2 * (k + v) + 4 * gates),
                    n * c * (c / 2 + gates),
                    trips + n * gpu.tuned(constants::kFusedChunkTrips),
                    128};
  Launch launch = stage_launch(stage, math, {reads("values", z.v_bytes()), writes("output", z.v_bytes())});
  if (prepared > 0) launch.operands.add(rereads("prepared", prepared));
  else launch.operands.add(reads("inputs", 2 * z.qk_bytes() + gate_bytes(s, z, z.element)));
  add_state(launch, s, z);
  launch.required.tensor = ops(certain_ops(s, z, 3, k + v));
  plan.launches.push_back(std::move(launch));
  if (prepared > 0)
    plan.launches.push_back(stage_launch(
        {"chunk_prepare", tiles, 128, 2 * c * c * 2 * k, whole / n - c * v * z.element, per_head / n, 3 * c * k,
         2 * c * k, trips},
        math, {reads("inputs", 2 * z.qk_bytes() + gate_bytes(s, z, z.element)), scratch("prepared", prepared)}));
  add_helpers(plan, s, z, math, gpu);
  return plan;
}

// Sizes of a chunked delta rule, per tile (a head's chunk) and of all tiles.
struct DeltaTiles {
  Chunks chunks;
  Count count, value_blocks;
  double c, k, v, e, bv, gates, n;  // of a tile; values of a block; gates of a token; chunks of a sequence
  double all, matrix, keys, values, states, gate_sums;  // of all tiles: entries of C x C, then bytes
};

DeltaTiles delta_tiles(const Scan& s, const ScanSizes& z) {
  DeltaTiles t{};
  t.chunks = chunks_of(z);
  t.c = t.chunks.size, t.k = z.key, t.v = z.value, t.e = z.element;
  t.gates = s.kda() ? t.k : 1, t.n = static_cast<double>(t.chunks.per_sequence);
  t.count = t.chunks.all * s.heads, t.value_blocks = ceil_div(s.head_dim, kValues);
  t.bv = std::min(t.v, static_cast<double>(kValues));
  t.all = static_cast<double>(t.count);
  t.matrix = t.all * t.c * t.c, t.keys = t.all * t.c * t.k * t.e, t.values = t.all * t.c * t.v * t.e;
  t.states = t.all * t.k * t.v * t.e, t.gate_sums = gate_bytes(s, z, kGateBytes);
  return t;
}

// l2norm.py and cumsum.py: queries and keys made unit length, gates summed up within their chunk.
void add_preparation(Plan& plan, const Scan& s, const ScanSizes& z, const DeltaTiles& t, const MathPath& math,
                     double trips) {
  const double qk = z.qk_bytes(), rows = z.tokens * z.key_heads;
  for (const std::string_view name : {"query_norm", "key_norm"}) {
    const Count ctas = std::max<Count>(1, static_cast<Count>(rows) / kNormRows);
    const double share = 1 / static_cast<double>(ctas);
    plan.launches.push_back(
        stage_launch({name, ctas, 128, 0, qk * share, qk * share, 3 * rows * t.k * share, rows * share, trips, 0}, math,
                     {reads(name, qk), scratch("normed", qk)}));
  }
  plan.launches.push_back(stage_launch(
      {"gate_cumsum", t.count, 32, 0, t.c * t.gates * t.e, t.c * t.gates * kGateBytes, 2 * t.c * t.gates, 0, trips, 0},
      math, {reads("gates", gate_bytes(s, z, t.e)), scratch("gate_sums", t.gate_sums)}));
}

// The products inside a chunk. The gated delta rule scales K K^T by gates; KDA's gates are per channel, so tiles off
// the diagonal and on it are separate kernels, and Q K^T comes with them (chunk_kda_scaled_dot_kkt_fwd).
void add_scores(Plan& plan, const Scan& s, const ScanSizes& z, const DeltaTiles& t, const MathPath& math,
                double trips) {
  const int kernels = s.kda() ? 2 : 1;
  const double sides = s.kda() ? 2 : 1;  // queries and keys, or keys
  for (int i = 0; i < kernels; ++i)
    plan.launches.push_back(stage_launch(
        {i == 0 ? "keys_keys" : "keys_keys_diagonal", t.count, 128, sides * 2 * t.c * t.c * t.k / kernels,
         t.c * (sides * t.k * t.e + (t.gates + 1) * kGateBytes), sides * 4 * t.c * t.c / kernels,
         sides * 3 * t.c * t.c / kernels + sides * t.c * t.gates, t.c * t.c / 2 + sides * t.c * t.gates, trips},
        math,
        {rereads("keys", sides * z.qk_bytes()), rereads("gate_sums", t.gate_sums),
         scratch("a", sides * 4 * t.matrix / kernels)}));
}

// solve_tril.py. A kernel that inverts all four diagonal blocks of a chunk does so one after another; TensorRT-LLM's
// older copy has one CTA per block and another kernel that joins them.
void add_solve(Plan& plan, const DeltaTiles& t, const MathPath& math, const Context& context, double trips) {
  const Count length = static_cast<Count>(t.c);
  const Count blocks = ceil_div(length, kSolvedRows);
  const bool apart = context.engine == Launcher::trtllm && blocks > 1;
  const double rows = static_cast<double>(std::min(length, kSolvedRows) - 2);
  const double turns = apart ? rows : rows * static_cast<double>(blocks);
  const Count ctas = t.count * (apart ? blocks : 1);
  const double share = t.all / static_cast<double>(ctas);
  // A block of 16 x 16 by itself is one warp's work, on the vector pipe.
  plan.launches.push_back(
      stage_launch({"solve", ctas, apart ? 32 : 128, apart ? 0 : 2.0 / 3 * t.c * t.c * t.c, 4 * t.c * t.c * share,
                    t.e * t.c * t.c * share, t.c * t.c * share, 0, trips + turns},
                   math, {rereads("a", 4 * t.matrix), scratch("inverse", t.e * t.matrix)}));
  if (apart)
    plan.launches.push_back(stage_launch(
        {"solve_join", t.count, 128, 2.0 / 3 * t.c * t.c * t.c, 4 * t.c * t.c, t.e * t.c * t.c, t.c * t.c, 0, trips},
        math, {rereads("a", 4 * t.matrix), scratch("inverse", t.e * t.matrix)}));
}

void add_outputs(Plan& plan, const Scan& s, const ScanSizes& z, const DeltaTiles& t, const MathPath& math,
                 const Gpu& gpu) {
  const double c = t.c, k = t.k, v = t.v, e = t.e, bv = t.bv, n = t.n;
  const double trips = gpu.tuned(constants::kStageTrips);
  const double own_gates = s.kda() ? t.gate_sums : 0, gate_loads = s.kda() ? kGateBytes * c * k : 0;
  // KDA also leaves its keys with their gates applied.
  const double left = s.kda() ? t.keys : 0;
  plan.launches.push_back(
      stage_launch({"keys_values", t.count, 128, 2 * c * c * (k + v), e * (c * (k + v) + c * c) + gate_loads,
                    e * c * (k + v) + left / t.all, 2 * c * (k + v), gate_loads / kGateBytes, trips},
                   math,
                   {reads("values", z.v_bytes()), rereads("keys", z.qk_bytes() + own_gates),
                    rereads("inverse", e * t.matrix), scratch("w", t.keys + left), scratch("u", t.values)}));
  const double carried = s.carry ? k * bv * z.state_element : 0;
  plan.launches.push_back(
      stage_launch({"chunk_state", t.value_blocks * static_cast<Count>(z.batch) * s.heads, 128, n * 4 * c * k * bv,
                    n * e * c * (2 * k + bv) + carried, n * e * (k * bv + c * bv) + carried, n * (k * bv + 2 * c * bv),
                    n * c, trips + n * gpu.tuned(constants::kChunkTrips), 64},
                   math,
                   {rereads("keys_w_u", t.keys + t.values + (s.kda() ? t.keys + own_gates : z.qk_bytes())),
                    scratch("states", t.states), scratch("new_values", t.values)}));
  add_state(plan.launches.back(), s, z);
  plan.launches.back().required.tensor = ops(certain_ops(s, z, 2, (k + v) * 2 / 3));
  const double scored = s.kda() ? 4 * c * c : 0;  // Q K^T is there already
  plan.launches.push_back(stage_launch(
      {"chunk_output", t.value_blocks * t.count, 128, 2 * c * k * bv + 2 * c * c * (k + bv),
       e * (2 * c * k + k * bv + c * bv) + gate_loads + scored, e * c * bv, 3 * c * c, c * c / 2, trips},
      math,
      {rereads("queries", z.qk_bytes()), rereads("keys", s.kda() ? own_gates + 4 * t.matrix : z.qk_bytes()),
       rereads("states", t.states), rereads("new_values", t.values), writes("output", z.v_bytes())}));
  plan.launches.back().required.tensor = ops(certain_ops(s, z, 1, (k + v) / 3));
}

// chunk.py: a chunk of 64 tokens, of the power of two that holds a shorter sequence.
Count delta_chunk(const Scan& s, const ScanSizes& z) {
  if (s.chunk > 0) return z.chunk;
  Count chunk = kLeastChunk;
  while (chunk < kChunk && chunk < z.length) chunk *= 2;
  return chunk;
}

}  // namespace

Plan chunk_delta_plan(const Scan& s, const ScanSizes& given, const MathPath& math, const Gpu& gpu,
                      const Context& context) {
  ScanSizes z = given;
  if (!s.fused) z.chunk = delta_chunk(s, given);
  const double trips = gpu.tuned(constants::kStageTrips);
  if (s.fused) return fused_delta_plan(s, z, math, gpu);
  const DeltaTiles tiles = delta_tiles(s, z);
  Plan plan;
  add_preparation(plan, s, z, tiles, math, trips);
  add_scores(plan, s, z, tiles, math, trips);
  add_solve(plan, tiles, math, context, trips);
  add_outputs(plan, s, z, tiles, math, gpu);
  return plan;
}

Plan chunk_ssd_plan(const Scan& s, const ScanSizes& z, const MathPath& math, const Gpu& gpu) {
  const double trips = gpu.tuned(constants::kStageTrips);
  const Chunks chunks = chunks_of(z);
  const double c = chunks.size, k = z.key, v = z.value, e = z.element, n = static_cast<double>(chunks.per_sequence);
  const double t = static_cast<double>(kSsdTile), tv = std::min(v, t), tk = std::min(k, t), tc = std::min(c, t);
  const Count heads = chunks.all * s.heads, groups = chunks.all * static_cast<Count>(z.key_heads);
  const Count across_v = ceil_div(s.head_dim, kSsdTile), across_k = ceil_div(static_cast<Count>(k), kSsdTile),
              across_c = ceil_div(z.chunk, kSsdTile);
  const double states = static_cast<double>(heads) * k * v * 4, scores = static_cast<double>(groups) * c * c * 4;
  const double steps_bytes = z.tokens * z.heads * e, sums = 2 * z.tokens * z.heads * kGateBytes;

  Plan plan;
  plan.launches.push_back(stage_launch({"chunk_cumsum", heads, 32, 0, c * e, 2 * c * kGateBytes, 10 * c, 2 * c, trips},
                                       math, {reads("dt", steps_bytes), scratch("dt_sums", sums)}));
  plan.launches.push_back(stage_launch(
      {"chunk_state", heads * across_v * across_k, 128, 2 * c * tv * tk, e * c * (tv + tk) + 8 * c, 4 * tv * tk,
       2 * c * tk, c, trips},
      math, {reads("x", z.v_bytes()), reads("b", z.qk_bytes()), rereads("dt_sums", sums), scratch("states", states)}));
  plan.launches.back().required.tensor = ops(certain_ops(s, z, 1, v / 2));
  const double passed = n * k * v * 4, carried = s.carry ? k * v * z.state_element : 0;
  plan.launches.push_back(stage_launch({"state_passing", static_cast<Count>(z.batch * z.heads), 128, 0,
                                        passed + carried, passed + carried, 2 * n * k * v, n, trips + n},
                                       math, {rereads("states", states), scratch("states", states)}));
  add_state(plan.launches.back(), s, z);
  plan.launches.push_back(stage_launch(
      {"chunk_scores", groups * across_c * across_c, 128, 2 * tc * tc * k, 2 * e * tc * k, 4 * tc * tc, 0, 0, trips},
      math, {reads("c", z.qk_bytes()), rereads("b", z.qk_bytes()), scratch("scores", scores)}));
  plan.launches.push_back(
      stage_launch({"chunk_scan", heads * across_c * across_v, 128, 2 * tc * k * tv + tc * c * tv,
                    e * (tc * k + c / 2 * tv) + 4 * (k * tv + tc * c / 2), e * tc * tv, 2 * tc * c / 2 + 2 * tc * tv,
                    tc * c / 2, trips},
                   math,
                   {rereads("x_c_sums", z.v_bytes() + z.qk_bytes() + sums), rereads("states", states),
                    rereads("scores", scores), writes("output", z.v_bytes())}));
  plan.launches.back().required.tensor = ops(certain_ops(s, z, 1, v / 2));
  return plan;
}

}  // namespace tilecast
