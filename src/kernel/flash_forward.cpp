#include "kernel/flash_forward.h"

#include <algorithm>
#include <cmath>

#include "constants/attention.h"
#include "kernel/checks.h"
#include "kernel/pipeline.h"
#include "kernel/triton_attention.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

// Everything that stays the same while tiles are laid out.
struct Layout {
  const ForwardProblem& problem;
  FlashTile tile;
  int splits = 1;
  AttentionBytes bytes;
  MathPath math;
  bool joins_itself = false;  // the last CTA of a tile joins the partial results
  PipelineLatency latency{};  // the card's own
  Helpers helpers{};
  bool triton = false, unified = false;  // kernel/triton_attention.h: SGLang's kernels, vLLM's
  Count rows_per_query() const { return tile.packed ? problem.heads.group() : 1; }
  Count head_tiles() const { return tile.packed ? problem.heads.key : problem.heads.query; }
};

// Key blocks and keys that one query tile visits.
TileWork work_of(const Layout& layout, const Lengths& l, Count index) {
  const FlashTile& tile = layout.tile;
  const Count per_query = layout.rows_per_query();
  const Count first_row = index * tile.m, end_row = std::min((index + 1) * tile.m, l.q * per_query);
  Count begin = 0, end = l.kv;
  if (layout.problem.mask == AttentionMask::causal) {
    end = std::min(l.kv, ceil_div(end_row, per_query) + l.kv - l.q);
    if (layout.problem.window > 0)
      begin = std::max<Count>(0, first_row / per_query + l.kv - l.q - (layout.problem.window - 1));
  }
  const Count first_block = begin / tile.n, end_block = ceil_div(end, tile.n);
  const Count passed = layout.triton ? triton_passed_blocks(first_block) : 0;
  return {end_block - first_block + passed, end_row - first_row, real(end - first_block * tile.n)};
}

// Dependent steps of a task, in units of the card's own step: a decoder has its own waiting times in clocks, which
// include the card's prologue.
double steps_of(const Layout& layout, const TileWork& work) {
  const double blocks = real(std::max<Count>(1, work.blocks));
  if (layout.tile.block_clocks == 0) return blocks;
  const double own = std::max(0.0, layout.tile.task_clocks - layout.latency.task_clocks * layout.latency.wave_share);
  return (own + blocks * layout.tile.block_clocks + work.keys * layout.tile.key_clocks) / layout.latency.step_clocks;
}

// The tasks of `count` equal query tiles: one each, or one for every share of their keys.
void add_tasks(const Layout& layout, const TileWork& work, Count count, std::vector<TaskGroup>& tasks) {
  const AttentionHeads& heads = layout.problem.heads;
  AttentionBytes element = layout.bytes;
  if (layout.splits > 1) element.out = 4;  // partial results in fp32
  const auto add = [&](const TileWork& part, Count n) {
    Demand each = tile_demand(layout.tile, part, heads, heads.qk_dim + heads.v_dim, element, layout.math);
    if (layout.problem.page_size > 0) each.l2_load += bytes(4 * std::ceil(part.keys / real(layout.problem.page_size)));
    if (layout.splits > 1 && layout.joins_itself) each.l2_load += each.l2_store;
    tasks.push_back({n, each, steps_of(layout, part)});
  };
  const Count per_split = ceil_div(work.blocks, layout.splits);
  if (per_split >= work.blocks) return add(work, count);
  const Count whole = work.blocks / per_split;
  // The last share ends with the keys, and may be short.
  const Count rest_blocks = work.blocks - whole * per_split;
  const double share_keys = real(per_split * layout.tile.n);
  const Count full = rest_blocks > 0 || work.keys == real(whole) * share_keys ? whole : whole - 1;
  add({per_split, work.rows, share_keys}, count * full);
  const Count last_blocks = work.blocks - full * per_split;
  if (last_blocks > 0) add({last_blocks, work.rows, work.keys - real(full) * share_keys}, count);
}

Count query_tiles(const Layout& layout, const Lengths& l) {
  return ceil_div(l.q * layout.rows_per_query(), layout.tile.m);
}

// Query tiles in launch order. Neighbours with equally many rows and blocks are one group, with the mean of their keys.
std::vector<TaskGroup> lay_out(const Layout& layout) {
  std::vector<TaskGroup> tasks;
  for (const Lengths& l : layout.problem.lengths) {
    const Count copies = l.requests * layout.head_tiles(), tiles = query_tiles(layout, l);
    TileWork run;
    Count length = 0;
    const auto flush = [&] {
      if (length > 0) add_tasks(layout, {run.blocks, run.rows, run.keys / real(length)}, length * copies, tasks);
    };
    // Without a mask all tiles but the last are alike.
    const bool alike = layout.problem.mask == AttentionMask::full && tiles > 2;
    for (Count i = 0; i < tiles; i = alike && i == 0 ? tiles - 1 : i + 1) {
      const TileWork next = work_of(layout, l, i);
      if (length == 0 || next.blocks != run.blocks || next.rows != run.rows) {
        flush();
        run = {next.blocks, next.rows, 0};
        length = 0;
      }
      const Count times = alike && i == 0 ? tiles - 1 : 1;
      run.keys += next.keys * real(times);
      length += times;
    }
    flush();
  }
  return tasks;
}

Count longest_kv(const ForwardProblem& p) {
  Count longest = 0;
  for (const Lengths& l : p.lengths) longest = std::max(longest, touched_keys(l, p.window));
  return longest;
}

Count all_tiles(const Layout& layout) {
  Count tiles = 0;
  for (const Lengths& l : layout.problem.lengths) tiles += l.requests * query_tiles(layout, l) * layout.head_tiles();
  return tiles;
}

bool is_amd(AttentionAlgorithm algorithm) {
  return algorithm == AttentionAlgorithm::ck || algorithm == AttentionAlgorithm::aiter;
}

// Tile and split of the flash kernels, as the library chooses them together.
void choose_flash(Layout& layout, const TileQuestion& question, Count kv, const Gpu& gpu) {
  const auto blocks = [&] { return ceil_div(kv, layout.tile.n); };
  layout.tile = forward_tile(question, gpu);
  if (question.cta_for_head) {
    layout.splits = 1;
  } else if (question.algorithm == AttentionAlgorithm::fa3) {
    layout.splits = fa3_splits(all_tiles(layout), blocks(), gpu);
  } else if (question.algorithm == AttentionAlgorithm::cudnn || question.algorithm == AttentionAlgorithm::efficient ||
             is_amd(question.algorithm)) {
    layout.splits = 1;
  } else if (question.algorithm == AttentionAlgorithm::blackwell) {
    layout.splits = blackwell_splits(all_tiles(layout), blocks(), gpu);
    layout.joins_itself = true;
  } else {
    const FlashTile plain = layout.tile;
    layout.tile = fa2_split_tile(question, gpu);
    layout.splits = fa2_splits(all_tiles(layout), blocks(), gpu);
    if (layout.splits == 1 && layout.problem.page_size == 0) layout.tile = plain;
  }
}

FlashTile decoder_tile(const DecoderShape& shape, const TileQuestion& question) {
  FlashTile tile;
  tile.algorithm = AttentionAlgorithm::fa2;  // one CTA a tile, waves
  tile.m = shape.rows, tile.n = shape.keys;
  tile.qk_dim = static_cast<int>(question.heads.qk_dim), tile.v_dim = static_cast<int>(question.heads.v_dim);
  tile.cta = shape.cta;
  tile.readers = 1;
  tile.packed = shape.packed, tile.vector = shape.vector;
  tile.known = false;
  return tile;
}

// A CTA alone on its SM also waits for its own products.
void choose_prefill(Layout& layout, const TileQuestion& question, Count kv, const Context& context, const Gpu& gpu) {
  if (question.algorithm == AttentionAlgorithm::fa2 && own_flashinfer(context)) {
    layout.tile = flashinfer_tile(question, gpu);
    layout.splits = flashinfer_splits(all_tiles(layout), kv, gpu);
  } else if (layout.unified) {
    layout.tile = unified_tile(question, gpu);
    return;
  } else if (layout.triton) {
    layout.tile = triton_tile(question, layout.problem.stores_keys, gpu);
  } else if (question.algorithm == AttentionAlgorithm::fa2 && context.kernel_source == KernelSource::flash_attention) {
    layout.tile = fa3_mma_tile(question, gpu);
    layout.splits = fa3_splits(all_tiles(layout), ceil_div(kv, layout.tile.n), gpu);
    layout.helpers.start_clocks = kFa3MmaStartClocks;
  } else {
    choose_flash(layout, question, kv, gpu);
  }
  FlashTile& tile = layout.tile;
  const double scores = static_cast<double>(tile.rows_computed()) * tile.n, dims = tile.qk_dim + tile.v_dim;
  const bool tensor = layout.math.pipe == Pipe::tensor;
  const double rate = layout.math.ops_per_clock * (tensor ? instruction_share(question.algorithm, gpu) : 1.0);
  const double products = rate > 0 ? 2 * scores * dims / rate : 0;
  const LoopQuestion loop{question.algorithm, false, question.window,
                          std::max(question.heads.qk_dim, question.heads.v_dim), std::max(tile.qk_dim, tile.v_dim)};
  const auto known = tensor && !layout.triton ? loop_waits(loop, all_tiles(layout), gpu) : std::nullopt;
  const PrefillWaits waits = known ? *known : prefill_waits(question.algorithm, context, gpu);
  tile.serial = known.has_value();
  tile.task_clocks = waits.task_clocks;
  tile.block_clocks = layout.latency.step_clocks + waits.products * products + waits.score_clocks * scores;
  // The rest is known of mma.sync alone.
  if (!layout.triton || gpu.tensor_generation() != TensorGeneration::mma) return;
  tile.block_clocks = layout.latency.step_clocks + waits.products * products * triton_warp_share(tile, gpu);
  const double element = triton_element_clocks(tile, question.heads, gpu);
  tile.task_clocks += element * tile.m * dims;
  tile.key_clocks = element * dims;
}

// TRT-LLM-gen has no kernel for heads that are not a multiple of 16: TensorRT-LLM falls back to its older ones on
// mma.sync, three times as slow on B200 and GB200 (encoder rows of 72).
bool lacks_generated(const AttentionHeads& heads, const Context& context) {
  return context.engine == Launcher::trtllm && heads.qk_dim % 16 != 0;
}

// TensorRT-LLM's fp8 kernels on mma.sync are for heads around 128: those of 64 and 256 multiply at 16 bits, half and
// less of the rate (AIConfigurator's rows of L40S and RTX PRO 6000).
bool multiplies_wider(const AttentionHeads& heads, const Format& format, const Context& context, const Gpu& gpu) {
  const bool fp8 = format.math == DType::fp8 && context.engine == Launcher::trtllm;
  return fp8 && gpu.tensor_generation() == TensorGeneration::mma && (heads.qk_dim <= 64 || heads.qk_dim > 192);
}

Count longest_q(const ForwardProblem& p) {
  Count longest = 0;
  for (const Lengths& l : p.lengths) longest = std::max(longest, l.q);
  return longest;
}

// TensorRT-LLM's context kernels, which vLLM and SGLang call on Blackwell, have a CTA for the queries of every head,
// over all keys: 128 requests of 16 tokens with 64 heads take 245 us on H200 and 161 on B200 (AIConfigurator), 8,192
// CTAs of 3 to 4 us. Requests of one token are decodes to vLLM and SGLang, whatever they are asked as.
bool has_cta_for_head(const ForwardProblem& p, const Context& context) {
  if (p.decode) return false;
  if (context.engine == Launcher::trtllm) return true;
  return context.kernel_source.says(KernelSource::Word::trtllm) && longest_q(p) > 1;
}

// Decode runs whatever kernel the engine has.
void choose_decoder(Layout& layout, const TileQuestion& question, Count kv, const Context& context, const Gpu& gpu) {
  Count requests = 0;
  for (const Lengths& l : layout.problem.lengths) requests += l.requests;
  const DecodeQuestion asked{question.heads,
                             requests,
                             kv,
                             layout.problem.cache,
                             question.algorithm,
                             question.window,
                             layout.math.input == DType::bf16};
  const Decoder decoder = decoder_of(asked, context, gpu);
  const DecoderShape shape = decoder_shape(decoder, asked, gpu);
  if (decoder == Decoder::fa2 || decoder == Decoder::generated ||
      (decoder == Decoder::fa3 && question.algorithm == AttentionAlgorithm::fa3)) {
    TileQuestion flash = question;
    if (decoder == Decoder::fa2 && is_amd(question.algorithm)) flash.algorithm = AttentionAlgorithm::fa2;
    choose_flash(layout, flash, kv, gpu);
  } else {
    layout.tile = decoder_tile(shape, question);
    layout.joins_itself = shape.joins_itself;
    layout.splits = decoder_splits(decoder, asked, all_tiles(layout), gpu);
  }
  // mha_varlen_fwd splits keys only if it swaps; PyTorch calls mha_fwd, which always may.
  if (decoder == Decoder::fa2 && !asked.swapped() && context.engine != Launcher::pytorch) layout.splits = 1;
  layout.helpers = decode_helpers(decoder, asked, context, gpu);
  const double key_bytes = real(question.heads.qk_dim + question.heads.v_dim) * layout.bytes.kv;
  layout.tile.task_clocks = shape.task_clocks + (layout.joins_itself && layout.splits > 1 ? shape.join_clocks : 0);
  layout.tile.block_clocks = shape.step_clocks;
  layout.tile.key_clocks = key_bytes / 1024 * shape.clocks_per_kib + shape.clocks_per_key;
  layout.tile.serial = shape.serial;
}

void set_dispatch(Launch& launch, const Layout& layout, const Gpu& gpu) {
  const ForwardProblem& p = layout.problem;
  launch.ctas = 0;
  for (const Lengths& l : p.lengths)
    launch.ctas += l.requests * query_tiles(layout, l) * layout.head_tiles() * layout.splits;
  if (layout.tile.algorithm == AttentionAlgorithm::fa2 || is_amd(layout.tile.algorithm) ||
      layout.tile.algorithm == AttentionAlgorithm::efficient) {  // grid (tiles, batch, heads): tiles of a head in turn
    launch.dispatch = Dispatch::waves;
    launch.order = layout.splits > 1 ? Order::grouped : Order::interleaved;
    return;
  }
  // FlashAttention 3 (hopper/tile_scheduler.hpp): persistent CTAs, longest tile first under a mask or with unequal
  // lengths; one CTA per tile if keys are split. Its sections of heads that fit L2 are not modelled.
  const bool uneven = p.mask == AttentionMask::causal || p.lengths.size() > 1;
  launch.dispatch = layout.splits > 1 ? Dispatch::waves : uneven ? Dispatch::longest_first : Dispatch::persistent;
  if (layout.splits == 1) launch.ctas = gpu.sms;
}

// Rows of a head are walked last, so the keys of all requests and heads pass between two reads of one.
void reread_keys(const Layout& layout, Operand& k, Operand& v, const Gpu& gpu) {
  double pairs = 0;
  Count most_tiles = 0;
  for (const Lengths& l : layout.problem.lengths) {
    pairs += real(l.requests * layout.problem.heads.query);
    most_tiles = std::max(most_tiles, query_tiles(layout, l));
  }
  const bool causal = layout.problem.mask == AttentionMask::causal;
  k.passes = v.passes = triton_key_passes(layout.tile, pairs, real(most_tiles), causal, gpu);
  k.reuse_distance = v.reuse_distance = k.size + v.size;
}

// A copy or cast of this many elements, which the previous kernel left in the cache.
Launch copy_launch(double elements, double steps) {
  Launch launch;
  launch.name = "attention_copy";
  launch.cta = {128, 32, bytes(0)};
  launch.ctas = std::max<Count>(1, ceil_div(static_cast<Count>(elements), 1024));
  const double share = elements / real(launch.ctas);
  Demand each;
  each.l2_load = each.l2_store = bytes(2 * share);
  launch.tasks = {{launch.ctas, each, steps}};
  launch.operands.add({"copied", bytes(2 * elements), Operand::Role::workspace, true, true});
  launch.plan_known = false;
  return launch;
}

}  // namespace

Result<AttentionBytes> attention_bytes(const Format& format, CacheType cache) {
  if (format.activation_bits < 8 || format.math == DType::int8)
    return field_error("dtype", "no attention kernel multiplies '" + std::string(format.name) + "'",
                       "choose bf16, fp16, fp32 or fp8");
  AttentionBytes element;
  element.q = format.activation_bits / 8;
  element.kv = cache == CacheType::fp8 ? 1 : element.q;
  element.out = in_bytes(size_of(format.output));
  return element;
}

Result<MathPath> decode_math(const Format& format, CacheType cache, const Gpu& gpu) {
  if (cache == CacheType::fp8 && gpu.has_tensor(DType::fp8, DType::fp32))
    return MathPath{Pipe::tensor, DType::fp8, DType::fp32, gpu.tensor_rate(DType::fp8, DType::fp32)};
  return math_path(format, gpu);
}

Ops required_exponentials(double pairs, const Gpu& gpu) {
  return ops(gpu.tensor_generation() == TensorGeneration::tcgen05 ? 0 : pairs);
}

Launch combine_launch(double rows, Count v_dim, int splits, const AttentionBytes& element, double steps) {
  // flash_fwd_launch_template.h, run_flash_splitkv_fwd: 128 threads, few rows per CTA for parallelism.
  const int block = v_dim % 128 == 0 ? 4 : v_dim % 64 == 0 ? 8 : 16;
  Launch launch;
  launch.name = "attention_combine";
  launch.character = Character::streaming;
  launch.cta = {128, 64, bytes(0)};
  launch.ctas = std::max<Count>(1, ceil_div(static_cast<Count>(rows), block));
  const double share = rows / real(launch.ctas), partial = real(v_dim) + 1;  // results and a log-sum
  Demand each;
  each.vector = ops(2 * share * splits * real(v_dim));
  each.xu = ops(share * splits);
  each.l2_load = bytes(4 * share * splits * partial);
  each.l2_store = bytes(share * real(v_dim) * element.out);
  launch.tasks = {{launch.ctas, each, steps}};
  launch.operands.add({"partial results", bytes(4 * rows * splits * partial), Operand::Role::workspace, true, false});
  launch.plan_known = false;  // engines also join in the main kernel
  return launch;
}

Result<Plan> plan_forward(const ForwardProblem& p, const Format& format, const Gpu& gpu, const Context& context) {
  const bool wider = !p.decode && multiplies_wider(p.heads, format, context, gpu);
  const auto element = attention_bytes(format, p.cache);
  if (!element) return element.error();
  const bool named = p.algorithm != AttentionAlgorithm::automatic;
  auto algorithm = resolve_algorithm(named ? p.algorithm : algorithm_named(context.kernel_source), gpu);
  if (!algorithm) return algorithm.error();
  // FlashAttention and TRT-LLM-gen multiply 16-bit and narrower operands alone; PyTorch takes xFormers' kernels for 32.
  const bool chosen = named || algorithm_named(context.kernel_source) != AttentionAlgorithm::automatic;
  if (!chosen && gpu.vendor == Vendor::nvidia && element->q > 2) algorithm = AttentionAlgorithm::efficient;
  if (lacks_generated(p.heads, context) && *algorithm == AttentionAlgorithm::blackwell)
    algorithm = AttentionAlgorithm::fa2;
  // Triton's kernels on AMD have FlashAttention 2's tiles, not Composable Kernel's.
  if (*algorithm == AttentionAlgorithm::ck && context.kernel_source.says(KernelSource::Word::triton))
    algorithm = AttentionAlgorithm::fa2;

  // Blocks of 16 rows are too few for wgmma and tcgen05.
  if (!p.decode && is_unified_attention(context, gpu)) algorithm = AttentionAlgorithm::fa2;

  const auto math = p.decode ? decode_math(format, p.cache, gpu)
                             : attention_math(wider ? *format_from("bf16") : format, *algorithm, gpu);
  if (!math) return math.error();

  TileQuestion question{*algorithm,
                        p.heads,
                        *element,
                        longest_q(p),
                        p.mask == AttentionMask::causal,
                        p.window > 0,
                        p.lengths.size() > 1,
                        p.page_size,
                        has_cta_for_head(p, context)};
  if (question.q_len == 1) question.causal = false;  // one query sees every key: the libraries drop the mask
  Layout layout{p, {}, 1, *element, *math, false, {}, {}};
  layout.latency = pipeline_latency(gpu);
  layout.triton = !p.decode && is_triton_attention(context, gpu);
  layout.unified = !p.decode && is_unified_attention(context, gpu);
  if (p.decode) choose_decoder(layout, question, longest_kv(p), context, gpu);
  else choose_prefill(layout, question, longest_kv(p), context, gpu);

  const AttentionHeads& heads = p.heads;
  Launch launch;
  launch.name = p.name;
  launch.character = Character::attention;
  launch.tile = {layout.tile.m, layout.tile.n, layout.tile.qk_dim};
  launch.split = layout.splits;
  launch.stages = layout.tile.stages;
  launch.cta = layout.tile.cta;
  launch.math = *math;
  if (math->pipe == Pipe::tensor) launch.math_share = instruction_share(*algorithm, gpu);
  launch.serial_steps = layout.tile.serial;
  launch.joining_clocks = layout.helpers.start_clocks;
  launch.tasks = lay_out(layout);
  set_dispatch(launch, layout, gpu);
  // Engines choose among kernels; only a named one has a plan that is certain.
  launch.plan_known = p.algorithm != AttentionAlgorithm::automatic && layout.tile.known;

  const double pairs = total_pairs(p.lengths, p.mask, p.window) * real(heads.query);
  (math->pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) =
      ops(2 * pairs * real(heads.qk_dim + heads.v_dim));
  launch.required.xu = required_exponentials(pairs, gpu);
  const double rows = total_queries(p.lengths) * real(heads.query);
  const double keys = total_touched_keys(p.lengths, p.window) * real(heads.key);
  launch.operands.add({"q", bytes(rows * real(heads.qk_dim) * element->q)});
  // Keys of earlier steps are as cold inside a model as its weights, which passed in between; a prompt's were just
  // written.
  const auto role = p.decode ? Operand::Role::weight : Operand::Role::activation;
  Operand k{"k", bytes(keys * real(heads.qk_dim) * element->kv), role};
  Operand v{"v", bytes(keys * real(heads.v_dim) * element->kv), role};
  if (layout.triton) reread_keys(layout, k, v, gpu);
  launch.operands.add(k);
  launch.operands.add(v);
  Plan plan;
  // The result belongs to the plan, whichever launch writes it, so it is counted once, here.
  launch.operands.add({"out", bytes(rows * real(heads.v_dim) * element->out), Operand::Role::activation, false, true});
  if (layout.splits > 1)
    launch.operands.add({"partial results", bytes(4 * rows * layout.splits * real(heads.v_dim + 1)),
                         Operand::Role::workspace, layout.joins_itself, true});
  plan.launches.push_back(std::move(launch));
  if (layout.splits > 1 && !layout.joins_itself)
    plan.launches.push_back(combine_launch(rows, heads.v_dim, layout.splits, *element, layout.helpers.combine_steps));
  if (const Passes passes = prefill_passes(context, gpu); p.stores_keys) {
    const double moved = passes.queries * rows * real(heads.qk_dim) * element->q +
                         passes.keys * keys * real(heads.qk_dim + heads.v_dim) * element->kv;
    if (moved > 0) plan.launches.push_back(copy_launch(moved / 4, 4));
    for (int i = 0; i < passes.others; ++i) plan.launches.push_back(copy_launch(1, 4));
  }
  for (int i = 0; i < layout.helpers.copies; ++i)
    plan.launches.push_back(copy_launch(rows * real(heads.qk_dim), layout.helpers.copy_steps));
  return plan;
}

}  // namespace tilecast
