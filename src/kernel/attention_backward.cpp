#include "kernel/attention_backward.h"

#include <algorithm>

#include "constants/attention.h"
#include "kernel/flash_forward.h"
#include "kernel/pipeline.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

struct BackwardTile {
  AttentionAlgorithm algorithm = AttentionAlgorithm::fa2;
  int m = 64, n = 128;  // query rows of a step, keys of a CTA
  int qk_dim = 128, v_dim = 128;
  CtaShape cta;
  double block_clocks = 0, task_clocks = 0;  // of the SM, that the pipes below do not explain; as steps of the card
  double reads = 2;                          // times each operand of a product is read from shared memory
  bool known = true;
};

struct Problem {
  AttentionHeads heads;
  std::vector<Lengths> lengths;
  AttentionMask mask;
  Count window;
  AttentionBytes bytes;
  MathPath math;
};

// csrc/flash_attn/src/flash_bwd_launch_template.h, run_mha_bwd_hdim*, without dropout; shared memory as
// kSmemSize1colblock of kernel_traits.h counts it.
BackwardTile fa2_tile(int dim, const Gpu& gpu) {
  const double room = in_bytes(gpu.shared_memory.per_cta) / 1024;  // KiB
  BackwardTile tile;
  bool v_in_registers = false, double_buffer = true;
  if (dim <= 32) tile.m = 128, v_in_registers = true;
  else if (dim <= 64) tile.m = room >= 144 ? 128 : 64, v_in_registers = room < 144;
  else if (dim <= 96) v_in_registers = true;
  else if (dim <= 128) tile.n = room >= 144 ? 128 : 64, v_in_registers = room < 144;
  else if (dim <= 192) tile.n = 64, v_in_registers = room < 136, double_buffer = room >= 136;
  else tile.n = room >= 144 ? 64 : 32, v_in_registers = room < 144, double_buffer = room >= 176;
  const double rows = 2.0 * tile.m * dim * (double_buffer ? 3 : 2);
  const double keys = 2.0 * tile.n * dim, scores = 2.0 * 2 * tile.m * tile.n;
  const double shared = rows + (v_in_registers ? std::max(2 * keys, keys + scores) : 2 * keys + scores);
  tile.cta = {256, 255, bytes(shared)};
  return tile;
}

// hopper/flash_bwd_launch_template.h, run_mha_bwd_hdim*; flash_bwd_kernel_sm90.h for threads and registers.
BackwardTile fa3_tile(int dim, bool uneven) {
  BackwardTile tile;
  if (dim <= 64) tile.m = 128;
  else if (dim <= 96) tile.m = 64;
  else if (dim <= 128) tile.m = uneven ? 64 : 80;
  else tile.n = dim <= 192 ? 96 : 80;
  const double stages = dim <= 128 ? 2 : 1;
  const double shared =
      2.0 * dim * (tile.m * (2 + stages) + 2 * tile.n) + 2.0 * 2 * tile.m * tile.n + 4.0 * tile.m * dim;
  tile.cta = {384, 168, bytes(shared)};
  tile.reads = 1;
  return tile;
}

// cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma ... 64x64, 384 threads, as many CTAs as SMs.
BackwardTile cudnn_tile(int dim, const Gpu& gpu) {
  BackwardTile tile;
  tile.m = 64, tile.n = dim <= 128 ? 128 : 64;
  tile.cta = {384, 168, gpu.shared_memory.per_cta};
  tile.reads = 1;
  tile.known = false;
  return tile;
}

// fmha_cutlassB_bf16_aligned_64x64_k64 and _128x128_k128.
BackwardTile efficient_tile(int dim) {
  BackwardTile tile;
  tile.m = tile.n = dim <= 64 ? 64 : 128;
  tile.cta = {dim <= 64 ? 128 : 512, 128, bytes(0)};
  tile.known = false;
  return tile;
}

void set_waits(BackwardTile& tile, const Problem& p, const Gpu& gpu) {
  const Count dim = std::max(p.heads.qk_dim, p.heads.v_dim);
  const LoopQuestion loop{tile.algorithm, true, p.window > 0, dim, std::max(tile.qk_dim, tile.v_dim)};
  Count tiles = 0;
  for (const Lengths& l : p.lengths) tiles += l.requests * p.heads.query * ceil_div(l.kv, tile.n);
  const auto waits = p.math.pipe == Pipe::tensor ? loop_waits(loop, tiles, gpu) : std::nullopt;
  if (!waits) return;
  const double rate = p.math.ops_per_clock * instruction_share(tile.algorithm, gpu),
               scores = double{1} * tile.m * tile.n;
  const double products = rate > 0 ? 2 * scores * (3 * tile.qk_dim + 2 * tile.v_dim) / rate : 0;
  const double step = pipeline_latency(gpu).step_clocks;
  tile.task_clocks = waits->task_clocks / step;
  tile.block_clocks = 1 + (waits->products * products + waits->score_clocks * scores) / step;
}

BackwardTile choose_tile(const Problem& p, AttentionAlgorithm algorithm, const Gpu& gpu) {
  const int qk_dim = compiled_dim(p.heads.qk_dim, algorithm), v_dim = compiled_dim(p.heads.v_dim, algorithm);
  const int dim = std::max(qk_dim, v_dim);
  BackwardTile tile;
  if (algorithm == AttentionAlgorithm::fa2) tile = fa2_tile(dim, gpu);
  else if (algorithm == AttentionAlgorithm::cudnn) tile = cudnn_tile(dim, gpu);
  else if (algorithm == AttentionAlgorithm::efficient) tile = efficient_tile(dim);
  else if (algorithm == AttentionAlgorithm::fa3) tile = fa3_tile(dim, p.mask == AttentionMask::causal);
  else
    tile = {algorithm, 128, 128, 0, 0, {512, 128, bytes(200e3)}, 0, 0, 1, false};  // flash_attn/cute/flash_bwd_sm100.py
  tile.algorithm = algorithm;
  tile.qk_dim = qk_dim;
  tile.v_dim = v_dim;
  tile.known = tile.known && dim <= 256 && p.bytes.q == 2 && gpu.vendor == Vendor::nvidia &&
               gpu.architecture >= Architecture::ampere;
  tile.cta.shared_memory = std::min(tile.cta.shared_memory, gpu.shared_memory.per_cta);
  set_waits(tile, p, gpu);
  return tile;
}

// Query rows that see a block of keys: [first, end), from a whole step on.
struct Rows {
  Count first, end;
};
Rows rows_of(const Problem& p, const BackwardTile& tile, const Lengths& l, Count block) {
  Count first = 0, end = l.q;
  if (p.mask == AttentionMask::causal) {
    const Count prefix = l.kv - l.q, last_key = std::min((block + 1) * tile.n, l.kv) - 1;
    first = std::max<Count>(0, block * tile.n - prefix);
    if (p.window > 0) end = std::clamp<Count>(last_key + p.window - prefix, 0, l.q);
  }
  return {std::min(first / tile.m * tile.m, end), end};
}

// Gradients of keys and values are written once per query head, and another kernel sums them; FlashAttention 3 and 4
// accumulate them in fp32.
bool writes_heads(const BackwardTile& tile) {
  return tile.algorithm != AttentionAlgorithm::fa3 && tile.algorithm != AttentionAlgorithm::blackwell;
}

// One block of keys against the rows that see it.
TaskGroup task_of(const Problem& p, const BackwardTile& tile, const Rows& range, Count keys) {
  const double e = p.bytes.q, m = tile.m, n = tile.n, qk = tile.qk_dim, v = tile.v_dim;
  const double rows = real(range.end - range.first), steps = real(ceil_div(range.end - range.first, tile.m));
  const double scores = m * n * steps;
  const double width = real(p.heads.qk_dim + p.heads.v_dim);
  Demand d;
  // S = QK', dP = dO V', dV = P' dO, dK = dS' Q, dQ = dS K.
  (p.math.pipe == Pipe::tensor ? d.tensor : d.vector) = ops(2 * scores * (3 * qk + 2 * v));
  d.xu = ops(scores);
  d.vector += ops(2 * scores * kBackwardScoreSlots);
  const double operands = 2 * m * (qk + v) + n * (2 * qk + v) + 3 * m * n;
  d.shared = bytes(e * (n * (qk + v) + steps * (m * (qk + v) + 2 * m * n + tile.reads * operands)));
  d.l2_load = bytes(real(keys) * width * e + rows * (width * e + 2 * 4));
  // dQ is accumulated in fp32 with atomics; dK and dV are written once, as fp32 sums if heads share them in
  // FlashAttention 3.
  const bool sums = p.heads.group() > 1 && !writes_heads(tile);
  d.l2_store = bytes(rows * real(p.heads.qk_dim) * 4 + real(keys) * width * (sums ? 4 : p.bytes.out));
  if (tile.block_clocks > 0) return {0, d, tile.task_clocks + std::max(1.0, steps) * tile.block_clocks};
  return {0, d, std::max(1.0, steps)};
}

std::vector<TaskGroup> lay_out(const Problem& p, const BackwardTile& tile) {
  std::vector<TaskGroup> tasks;
  for (const Lengths& l : p.lengths) {
    const Count copies = l.requests * p.heads.query;
    Rows pending{-1, -1};
    Count pending_keys = 0;
    for (Count block = 0; block < ceil_div(l.kv, tile.n); ++block) {
      const Rows rows = rows_of(p, tile, l, block);
      const Count keys = std::min<Count>(tile.n, l.kv - block * tile.n);
      if (keys == pending_keys && rows.end - rows.first == pending.end - pending.first) {
        tasks.back().count += copies;
        continue;
      }
      tasks.push_back(task_of(p, tile, rows, keys));
      tasks.back().count = copies;
      pending = rows;
      pending_keys = keys;
    }
  }
  return tasks;
}

// A helper kernel that streams over rows: one CTA per `block` rows of each head.
Launch helper(std::string_view name, Count ctas, int threads, double load, double store, double elements) {
  Launch launch;
  launch.name = name;
  launch.character = Character::streaming;
  launch.cta = {threads, 40, bytes(0)};
  launch.ctas = std::max<Count>(1, ctas);
  const double share = 1 / real(launch.ctas);
  Demand each;
  each.vector = ops(2 * elements * share);
  each.l2_load = bytes(load * share);
  each.l2_store = bytes(store * share);
  launch.tasks = {{launch.ctas, each, 1}};
  return launch;
}

Launch main_launch(const Problem& p, const BackwardTile& tile, double rows, double keys, const Gpu& gpu) {
  const double qk = real(p.heads.qk_dim), v = real(p.heads.v_dim), e = p.bytes.q;
  Launch launch;
  launch.name = "attention_backward";
  launch.character = Character::attention;
  launch.tile = {tile.m, tile.n, tile.qk_dim};
  launch.cta = tile.cta;
  launch.math = p.math;
  if (p.math.pipe == Pipe::tensor) launch.math_share = instruction_share(tile.algorithm, gpu);
  launch.serial_steps = tile.block_clocks > 0;
  launch.tasks = lay_out(p, tile);
  launch.ctas = launch.task_count();
  // FlashAttention 2 launches the blocks of a head in turn; 3 and 4 the longest first (SingleTileBwdLPTScheduler).
  launch.order = Order::interleaved;
  const bool in_turn = tile.algorithm == AttentionAlgorithm::fa2 || tile.algorithm == AttentionAlgorithm::efficient;
  const bool sorted = !in_turn && p.mask == AttentionMask::causal && p.lengths.size() == 1;
  launch.dispatch = sorted ? Dispatch::longest_first : Dispatch::waves;
  const double pairs = total_pairs(p.lengths, p.mask, p.window) * real(p.heads.query);
  (p.math.pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) = ops(2 * pairs * (3 * qk + 2 * v));
  launch.required.xu = required_exponentials(pairs, gpu);
  launch.operands.add({"q", bytes(rows * qk * e)});
  launch.operands.add({"k", bytes(keys * qk * e)});
  launch.operands.add({"v", bytes(keys * v * e)});
  // The previous launch has just read dO, so it may be in the cache.
  launch.operands.add({"dout", bytes(rows * v * e), Operand::Role::workspace, true, false});
  launch.operands.add({"dq sums", bytes(rows * qk * 4), Operand::Role::workspace, true, true});
  return launch;
}

// dK and dV where several query heads share a key head: FlashAttention 2 writes one gradient per query head and lets
// PyTorch sum them; 3 accumulates in fp32 and converts.
void add_group_launches(Plan& plan, const Problem& p, const BackwardTile& tile, double keys) {
  const double group = real(p.heads.group());
  const bool expands = writes_heads(tile);
  Launch& main = plan.launches[1];
  for (const auto& [name, gradient, dim] :
       {std::tuple{"dk_sum", "dk", p.heads.qk_dim}, {"dv_sum", "dv", p.heads.v_dim}}) {
    const double elements = keys * real(dim), part = elements * (expands ? group * p.bytes.out : 4);
    main.operands.add({"partial gradients", bytes(part), Operand::Role::workspace, false, true});
    plan.launches.push_back(helper(name, ceil_div(static_cast<Count>(keys), tile.n), 256, part, elements * p.bytes.out,
                                   elements * (expands ? group : 1)));
    plan.launches.back().operands.add({"partial gradients", bytes(part), Operand::Role::workspace, true, false});
    plan.launches.back().operands.add(
        {gradient, bytes(elements * p.bytes.out), Operand::Role::activation, false, true});
    plan.launches.back().plan_known = false;
  }
}

}  // namespace

Result<Plan> plan(const AttentionBackward& s, const Format& format, const Gpu& gpu, const Context& context) {
  const auto element = attention_bytes(format, CacheType::same);
  if (!element) return element.error();
  const bool named = s.forward.algorithm != AttentionAlgorithm::automatic;
  auto algorithm = resolve_algorithm(named ? s.forward.algorithm : algorithm_named(context.kernel_source), gpu);
  if (!algorithm) return algorithm.error();
  // AMD's gradient kernels are not modelled separately.
  if (*algorithm == AttentionAlgorithm::ck || *algorithm == AttentionAlgorithm::aiter)
    algorithm = AttentionAlgorithm::fa2;
  const auto math = attention_math(format, *algorithm, gpu);
  if (!math) return math.error();
  const AttentionPrefill& forward = s.forward;
  const Problem p{forward.geometry(), forward.lengths(), forward.mask, forward.window, *element, *math};
  const BackwardTile tile = choose_tile(p, *algorithm, gpu);

  const double rows = total_queries(p.lengths) * real(p.heads.query);
  const double keys = total_touched_keys(p.lengths, p.window) * real(p.heads.key);
  const double qk = real(p.heads.qk_dim), v = real(p.heads.v_dim);
  Count row_ctas = 0;
  for (const Lengths& l : p.lengths) row_ctas += l.requests * p.heads.query * ceil_div(l.q, tile.m);

  Plan plan;
  // D = rowsum(dO * O), and the fp32 sums of dQ set to zero.
  plan.launches.push_back(
      helper("attention_backward_dot", row_ctas, 256, 2 * rows * v * p.bytes.q, rows * (4 + qk * 4), rows * v));
  plan.launches[0].operands.add({"out", bytes(rows * v * p.bytes.q)});
  plan.launches[0].operands.add({"dout", bytes(rows * v * p.bytes.q)});
  plan.launches[0].operands.add({"dq sums", bytes(rows * (4 + qk * 4)), Operand::Role::workspace, false, true});
  plan.launches.push_back(main_launch(p, tile, rows, keys, gpu));
  plan.launches.push_back(
      helper("attention_backward_dq", row_ctas, 256, rows * qk * 4, rows * qk * p.bytes.out, rows * qk));
  plan.launches[2].operands.add({"dq sums", bytes(rows * qk * 4), Operand::Role::workspace, true, false});
  plan.launches[2].operands.add({"dq", bytes(rows * qk * p.bytes.out), Operand::Role::activation, false, true});
  if (p.heads.group() > 1) {
    add_group_launches(plan, p, tile, keys);
  } else {
    plan.launches[1].operands.add({"dk", bytes(keys * qk * p.bytes.out), Operand::Role::activation, false, true});
    plan.launches[1].operands.add({"dv", bytes(keys * v * p.bytes.out), Operand::Role::activation, false, true});
  }
  const bool known = forward.algorithm != AttentionAlgorithm::automatic && tile.known;
  for (std::size_t i = 0; i < 3; ++i) plan.launches[i].plan_known = known;
  return plan;
}

}  // namespace tilecast
