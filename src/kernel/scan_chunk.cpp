// Chunked scans: flash-linear-attention's kernels for the gated delta rule and KDA (one launch a stage, or fused into
// one as FlashInfer and FlashKDA do), and Mamba-2's SSD.
//
// With chunks of C tokens, K key and V value elements a head, and the state S (K x V), a head's chunk costs
//   delta rule:  K K^T            2 C C K          w = T K, u = T V   2 C C (K + V)      T = (I + tril(K K^T))^-1  2/3
//   C^3
//                v' = u - w S     2 C K V          S += K^T v'        2 C K V
//                Q S              2 C K V          (Q K^T) v'         2 C C (K + V)
//   SSD:         B C^T per group  2 C C K          B^T x              2 C K V
//                C S              2 C K V          (C B^T) x          C C V (causal half)
// The products with S are the same for every chunk length; without an initial state a short sequence can do without
// them.
#include <algorithm>

#include "kernel/scan_parts.h"

namespace tilecast {
namespace {

constexpr double kGateBytes = 4;  // cumulated gates are fp32
// Values a program takes: chunk_delta_h.py and chunk_o.py autotune 32 to 128, ssd_chunk_*.py 32 to 256; the middle.
constexpr Count kValues = 64;
constexpr Count kSsdTile = 64;

// One stage: `count` equal tasks, with the demand of each.
struct Stage {
  std::string_view name;
  Count count;
  int threads;
  double tensor, load, store;  // per task: operations, bytes
  double slots = 0, xu = 0;
  double steps = 1;
  double shared_kib = 32;
};

Launch stage_launch(const Stage& stage, const MathPath& math, std::initializer_list<Operand> operands) {
  Launch launch;
  launch.name = stage.name;
  // A stage that walks chunks waits for each; the others are products of one tile.
  launch.character = stage.steps > 1 ? Character::scan : stage.tensor > 0 ? Character::product : Character::streaming;
  launch.math = math;
  launch.ctas = stage.count;
  launch.cta = {stage.threads, 128, kibibytes(stage.shared_kib)};
  Demand each;
  each.tensor = ops(stage.tensor);
  each.vector = ops(2 * stage.slots);
  each.xu = ops(stage.xu);
  each.l2_load = bytes(stage.load);
  each.l2_store = bytes(stage.store);
  each.shared = bytes(2 * stage.load);  // operands of products pass shared memory on the way in and to the pipe
  launch.tasks = {{stage.count, each, stage.steps}};
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

// Tensor operations that no chunking avoids: `products` multiplications with the state a token. Without an initial
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

Plan fused_delta_plan(const Scan& s, const ScanSizes& z, const MathPath& math) {
  const Chunks chunks = chunks_of(z);
  const double c = chunks.size, k = z.key, v = z.value, n = static_cast<double>(chunks.per_sequence);
  const double gates = s.kda() ? k : 1;
  const double state = s.carry ? k * v * z.state_element : 0;
  const Stage stage{"chunk_delta_fused",
                    static_cast<Count>(z.batch * z.heads),
                    384,
                    n * (6 * c * k * v + 2 * c * c * (3 * k + 2 * v) + 2.0 / 3 * c * c * c),
                    n * c * (2 * k + v + gates + 1) * z.element + state,
                    n * c * v * z.element + state,
                    n * c * (4 * c + 2 * (k + v) + 4 * gates),
                    n * c * (c / 2 + gates),
                    n,
                    128};
  Launch launch = stage_launch(stage, math,
                               {reads("queries_keys", 2 * z.qk_bytes()), reads("values", z.v_bytes()),
                                reads("gates", gate_bytes(s, z, z.element)), writes("output", z.v_bytes())});
  add_state(launch, s, z);
  launch.character = Character::scan;
  launch.required.tensor = ops(certain_ops(s, z, 3, k + v));
  return Plan{{launch}};
}

}  // namespace

Plan chunk_delta_plan(const Scan& s, const ScanSizes& z, const MathPath& math) {
  if (s.fused) return fused_delta_plan(s, z, math);
  const Chunks chunks = chunks_of(z);
  const double c = chunks.size, k = z.key, v = z.value, e = z.element;
  const double gates = s.kda() ? k : 1, n = static_cast<double>(chunks.per_sequence);
  const Count tiles = chunks.all * s.heads, value_blocks = ceil_div(s.head_dim, kValues);
  const double bv = std::min(v, static_cast<double>(kValues));
  const double all = static_cast<double>(tiles);
  const double tile_bytes = all * c * c, keys = all * c * k * e, values = all * c * v * e;
  const double states = all * k * v * e, gate_sums = gate_bytes(s, z, kGateBytes);

  Plan plan;
  plan.launches.push_back(
      stage_launch({"gate_cumsum", tiles, 32, 0, c * gates * e, c * gates * kGateBytes, 2 * c * gates}, math,
                   {reads("gates", gate_bytes(s, z, e)), scratch("gate_sums", gate_sums)}));
  plan.launches.push_back(stage_launch(
      {"keys_keys", tiles, 128, 2 * c * c * k, c * (k * e + (gates + 1) * kGateBytes), 4 * c * c, 3 * c * c, c * c / 2},
      math, {reads("keys", z.qk_bytes()), rereads("gate_sums", gate_sums), scratch("a", 4 * tile_bytes)}));
  plan.launches.push_back(stage_launch({"solve", tiles, 128, 2.0 / 3 * c * c * c, 4 * c * c, e * c * c, c * c}, math,
                                       {rereads("a", 4 * tile_bytes), scratch("inverse", e * tile_bytes)}));
  plan.launches.push_back(stage_launch(
      {"keys_values", tiles, 128, 2 * c * c * (k + v), e * (c * (k + v) + c * c), e * c * (k + v), 2 * c * (k + v)},
      math,
      {reads("values", z.v_bytes()), rereads("keys", z.qk_bytes()), rereads("inverse", e * tile_bytes),
       scratch("w", keys), scratch("u", values)}));
  const double carried = s.carry ? k * bv * z.state_element : 0;
  plan.launches.push_back(stage_launch(
      {"chunk_state", value_blocks * static_cast<Count>(z.batch) * s.heads, 128, n * 4 * c * k * bv,
       n * e * c * (2 * k + bv) + carried, n * e * (k * bv + c * bv) + carried, n * (k * bv + 2 * c * bv), n * c, n,
       64},
      math,
      {rereads("keys_w_u", keys + values + z.qk_bytes()), scratch("states", states), scratch("new_values", values)}));
  add_state(plan.launches.back(), s, z);
  plan.launches.back().required.tensor = ops(certain_ops(s, z, 2, (k + v) * 2 / 3));
  plan.launches.push_back(
      stage_launch({"chunk_output", value_blocks * tiles, 128, 2 * c * k * bv + 2 * c * c * (k + bv),
                    e * (2 * c * k + k * bv + c * bv), e * c * bv, 3 * c * c, c * c / 2},
                   math,
                   {reads("queries", z.qk_bytes()), rereads("keys", z.qk_bytes()), rereads("states", states),
                    rereads("new_values", values), writes("output", z.v_bytes())}));
  plan.launches.back().required.tensor = ops(certain_ops(s, z, 1, (k + v) / 3));
  return plan;
}

Plan chunk_ssd_plan(const Scan& s, const ScanSizes& z, const MathPath& math) {
  const Chunks chunks = chunks_of(z);
  const double c = chunks.size, k = z.key, v = z.value, e = z.element, n = static_cast<double>(chunks.per_sequence);
  const double t = static_cast<double>(kSsdTile), tv = std::min(v, t), tk = std::min(k, t), tc = std::min(c, t);
  const Count heads = chunks.all * s.heads, groups = chunks.all * static_cast<Count>(z.key_heads);
  const Count across_v = ceil_div(s.head_dim, kSsdTile), across_k = ceil_div(static_cast<Count>(k), kSsdTile),
              across_c = ceil_div(z.chunk, kSsdTile);
  const double states = static_cast<double>(heads) * k * v * 4, scores = static_cast<double>(groups) * c * c * 4;
  const double steps_bytes = z.tokens * z.heads * e, sums = 2 * z.tokens * z.heads * kGateBytes;

  Plan plan;
  plan.launches.push_back(stage_launch({"chunk_cumsum", heads, 32, 0, c * e, 2 * c * kGateBytes, 10 * c, 2 * c}, math,
                                       {reads("dt", steps_bytes), scratch("dt_sums", sums)}));
  plan.launches.push_back(stage_launch(
      {"chunk_state", heads * across_v * across_k, 128, 2 * c * tv * tk, e * c * (tv + tk) + 8 * c, 4 * tv * tk,
       2 * c * tk, c},
      math, {reads("x", z.v_bytes()), reads("b", z.qk_bytes()), rereads("dt_sums", sums), scratch("states", states)}));
  plan.launches.back().required.tensor = ops(certain_ops(s, z, 1, v / 2));
  const double passed = n * k * v * 4, carried = s.carry ? k * v * z.state_element : 0;
  plan.launches.push_back(stage_launch({"state_passing", static_cast<Count>(z.batch * z.heads), 128, 0,
                                        passed + carried, passed + carried, 2 * n * k * v, n, n},
                                       math, {rereads("states", states), scratch("states", states)}));
  add_state(plan.launches.back(), s, z);
  plan.launches.push_back(
      stage_launch({"chunk_scores", groups * across_c * across_c, 128, 2 * tc * tc * k, 2 * e * tc * k, 4 * tc * tc},
                   math, {reads("c", z.qk_bytes()), rereads("b", z.qk_bytes()), scratch("scores", scores)}));
  plan.launches.push_back(stage_launch(
      {"chunk_scan", heads * across_c * across_v, 128, 2 * tc * k * tv + tc * c * tv,
       e * (tc * k + c / 2 * tv) + 4 * (k * tv + tc * c / 2), e * tc * tv, 2 * tc * c / 2 + 2 * tc * tv, tc * c / 2},
      math,
      {rereads("x_c_sums", z.v_bytes() + z.qk_bytes() + sums), rereads("states", states), rereads("scores", scores),
       writes("output", z.v_bytes())}));
  plan.launches.back().required.tensor = ops(certain_ops(s, z, 1, v / 2));
  return plan;
}

}  // namespace tilecast
