#include "kernel/mla_decode.h"

#include <algorithm>
#include <cmath>

#include "constants/mla.h"
#include "kernel/attention_sources.h"
#include "kernel/flash_forward.h"
#include "kernel/mla_sources.h"
#include "kernel/pipeline.h"
#include "kernel/streaming.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr Count kAbsorbedDim = 128;    // of a head without position, before and after the latent
constexpr Count kUnsplitResident = 2;  // CTAs that an SM's shared memory holds
constexpr double kReservedShared = 1024;
constexpr double kSplitKeys = 64;  // of get_num_kv_splits_triton
constexpr Count kLeastKeys = 32;   // of a share: a block
constexpr int kUnsplitShares = 4;  // CTAs that share a tile's values
// Shares of the keys that the Triton kernels launch, whether they find any or not: vLLM's are fixed, SGLang's at most.
constexpr Count kServedSplits = 32, kVllmSplits = 4;

FlashTile mla_tile(const MlaDecode& s, MlaDecoder decoder, const AttentionBytes& element, const Gpu& gpu) {
  FlashTile tile;
  tile.packed = true;
  tile.known = false;
  tile.qk_dim = static_cast<int>(s.kv_lora + s.rope_dim);
  tile.v_dim = static_cast<int>(s.kv_lora);
  tile.stages = 2;
  switch (decoder) {
    case MlaDecoder::flash_mla:  // double-buffered latent
      tile.algorithm = AttentionAlgorithm::fa3;
      tile.m = tile.n = 64;
      tile.readers = 2;
      tile.cta = {256, 255, bytes(0)};
      break;
    case MlaDecoder::generated:  // up to 128 heads, 128 tokens
      tile.algorithm = AttentionAlgorithm::blackwell;
      tile.m = rows_up_to(s.heads * s.q_len, 8, 128);
      tile.n = 128;
      tile.stages = 1;
      tile.readers = 1;
      tile.cta = {512, 128, bytes(0)};
      break;
    case MlaDecoder::unsplit:
    case MlaDecoder::xqa:
      tile.m = tile.n = 64;
      tile.stages = 1;
      tile.cta = {128, 255, bytes(0)};
      tile.v_dim /= kUnsplitShares;
      break;
    case MlaDecoder::triton:
      tile.m = 16;
      tile.n = 32;
      tile.cta = {128, 255, bytes(0)};
      break;
  }
  // The latent is in shared memory once, as key and value.
  double shared = tile.qk_dim * (tile.m * element.q + tile.stages * tile.n * element.kv);
  if (decoder == MlaDecoder::unsplit) shared = in_bytes(gpu.shared_memory.per_cta) / kUnsplitResident - kReservedShared;
  tile.cta.shared_memory = std::min(bytes(shared), gpu.shared_memory.per_cta);
  return tile;
}

// SGLang passes an fp8 cache to FlashAttention 3 after widening it and separating the rotated part from the latent: its
// rows take five times as long as bf16's.
bool casts_cache(const MlaDecode& s, MlaDecoder decoder, const Context& context) {
  return s.kv_dtype == CacheType::fp8 && decoder == MlaDecoder::flash_mla && context.engine == Launcher::sglang;
}

bool keeps_keys_whole(MlaDecoder decoder) { return decoder == MlaDecoder::unsplit || decoder == MlaDecoder::xqa; }

// SGLang's get_num_kv_splits_triton for requests of one length.
Count served_splits(Count keys, Count tiles, const Gpu& gpu) {
  const double cores = gpu.sms * std::max(1.0, std::log2(real(keys) / kSplitKeys));
  const Count wanted = std::clamp<Count>(static_cast<Count>(std::ceil(cores / real(tiles))), 1, kServedSplits);
  return std::min(wanted, ceil_div(keys, kLeastKeys));
}

// How the keys of all requests become tasks.
struct Cut {
  Count tasks = 0, blocks_each = 0, requests_each = 1;
  int splits = 1;
  Count idle = 0;  // CTAs without keys of their own
};

Cut cut_keys(MlaDecoder decoder, Count blocks, Count requests, Count row_tiles, const Gpu& gpu,
             const Context& context) {
  Cut cut;
  if (keeps_keys_whole(decoder)) {
    cut.blocks_each = ceil_div(blocks, requests);
    cut.tasks = requests;
    return cut;
  }
  if (decoder == MlaDecoder::triton) {
    const bool vllm = context.engine == Launcher::vllm;
    const Count launched = vllm ? kVllmSplits : kServedSplits, each = ceil_div(blocks, requests);
    const Count used = vllm ? std::min(launched, each) : served_splits(each * kLeastKeys, requests * row_tiles, gpu);
    cut.blocks_each = ceil_div(blocks, requests * used);
    cut.tasks = requests * used;
    cut.idle = requests * (launched - used);
    cut.splits = static_cast<int>(used);
    return cut;
  }
  // FlashMLA's scheduler cuts the tokens of all requests, laid end to end, into equal parts, one for each SM that a
  // tile of heads has (get_mla_metadata: SMs / head tiles). TRT-LLM-gen's splits also aim to fill the SMs.
  const Count wanted = std::max<Count>(1, gpu.sms / row_tiles);
  cut.blocks_each = ceil_div(blocks, std::min(blocks, wanted));
  cut.tasks = ceil_div(blocks, cut.blocks_each);
  cut.splits = static_cast<int>(std::max<Count>(1, ceil_div(cut.tasks, requests)));
  cut.requests_each = std::max<Count>(1, ceil_div(requests, cut.tasks));  // or several whole requests
  return cut;
}

// vLLM's layer multiplies queries into the latent and results out of it (forward_mqa, _v_up_proj).
void add_absorption(Plan& plan, const MlaDecode& s, double rows, const AttentionBytes& element, const MathPath& math) {
  const double latent = real(s.kv_lora), head = real(kAbsorbedDim);
  const double weights = real(s.heads) * head * latent * element.q;
  for (const std::string_view name : {"absorb_queries", "unfold_results"}) {
    Launch launch = mla_copy(name, rows * latent * element.q + weights, rows * head * element.q, kMlaHelperTrips);
    launch.math = math;
    launch.tasks[0].each.tensor = ops(2 * rows * head * latent / real(launch.ctas));
    plan.launches.push_back(std::move(launch));
  }
}

// Helpers around the kernel, by engine.
void add_helpers(Plan& plan, const MlaDecode& s, double rows, double keys, const AttentionBytes& element,
                 const MathPath& math, MlaDecoder decoder, const Context& context) {
  if (context.engine.empty()) return;  // the kernel by itself
  const double rotated = rows * real(s.rope_dim) * element.q, queries = rows * real(s.kv_lora) * element.q;
  for (int i = 0; i < kMlaDecodeHelpers; ++i)
    plan.launches.push_back(mla_copy("rotate_and_store", rotated + queries, rotated + queries, kMlaHelperTrips));
  if (casts_cache(s, decoder, context)) {
    const double latent = keys * real(s.kv_lora + s.rope_dim);
    Launch widen = mla_copy("widen_cache", 0, 2 * latent, kMlaHelperTrips);
    widen.operands.add(reads("latent", latent));
    widen.tasks[0].each.l2_load += bytes(latent / real(widen.ctas));
    plan.launches.push_back(std::move(widen));
    plan.launches.push_back(mla_copy("part_cache", 2 * latent, 2 * latent, kMlaHelperTrips));
  }
  if (whole_layer(context)) add_absorption(plan, s, rows, element, math);
}

// Of all requests.
struct Keys {
  Count blocks = 0, requests = 0;
  double all = 0;
};
Keys count_keys(const std::vector<Lengths>& lengths, Count block) {
  Keys keys;
  for (const Lengths& l : lengths) {
    keys.blocks += l.requests * ceil_div(l.kv, block);
    keys.requests += l.requests;
    keys.all += real(l.requests) * real(l.kv);
  }
  return keys;
}

// What every kernel has to compute and touch; a widened cache is this plan's own.
void add_requirements(Launch& launch, const MlaDecode& s, const AttentionBytes& element, const Gpu& gpu, double keys,
                      bool widened) {
  const AttentionHeads heads = s.geometry();
  const std::vector<Lengths> lengths = s.lengths();
  const double pairs = total_pairs(lengths, AttentionMask::causal, 0) * real(s.heads);
  (launch.math.pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) =
      ops(2 * pairs * real(heads.qk_dim + heads.v_dim));
  launch.required.xu = required_exponentials(pairs, gpu);
  const double rows = total_queries(lengths) * real(s.heads);
  launch.operands.add({"q", bytes(rows * real(heads.qk_dim) * element.q)});
  launch.operands.add({"latent", bytes(keys * real(heads.qk_dim) * element.kv),
                       widened ? Operand::Role::workspace : Operand::Role::weight});
  launch.operands.add({"out", bytes(rows * real(heads.v_dim) * element.out), Operand::Role::activation, false, true});
}

}  // namespace

Status MlaDecode::check() const {
  if (auto fit = check_heads(geometry()); !fit) return fit;
  if (auto fit = check_lists(batch, {}, lens); !fit) return fit;
  if (lens.empty() && kv_len == 0) return field_error("kv-len", "is missing", "give kv-len, or lens for each request");
  return check_lengths(lengths(), AttentionMask::causal, 0, geometry());
}

Result<Plan> plan(const MlaDecode& given, const Format& format, const Gpu& gpu, const Context& context) {
  const auto algorithm = resolve_algorithm(AttentionAlgorithm::automatic, gpu);
  if (!algorithm) return algorithm.error();
  const MlaDecoder decoder = mla_decoder({given.heads, given.kv_dtype, *algorithm}, context, gpu);
  const bool widened = casts_cache(given, decoder, context);
  MlaDecode s = given;
  if (widened) s.kv_dtype = CacheType::same;
  const auto math = decode_math(format, s.kv_dtype, gpu);
  if (!math) return math.error();
  const auto element = attention_bytes(format, s.kv_dtype);
  if (!element) return element.error();
  const AttentionHeads heads = s.geometry();
  const FlashTile tile = mla_tile(s, decoder, *element, gpu);
  const Keys keys = count_keys(s.lengths(), tile.n);
  const Count row_tiles = ceil_div(s.heads * s.q_len, tile.m);
  const Cut cut = cut_keys(decoder, keys.blocks, keys.requests, row_tiles, gpu, context);

  const Count shares = keeps_keys_whole(decoder) ? Count{kUnsplitShares} : 1, tasks = cut.tasks * row_tiles * shares;
  const Count rows_each = std::min<Count>(tile.m, s.heads * s.q_len) * cut.requests_each;
  AttentionBytes stored = *element;
  if (cut.splits > 1) stored.out = 4;
  const TileWork work{cut.blocks_each, rows_each, keys.all / real(cut.tasks)};
  const MlaWaits waits = mla_waits(decoder, s.kv_dtype, gpu);
  const double step = pipeline_latency(gpu).step_clocks;
  const double clocks =
      waits.task * real(cut.requests_each) + waits.row * real(rows_each) + waits.block * real(cut.blocks_each);
  Launch launch;
  launch.name = "mla_decode";
  launch.character = Character::attention;
  launch.tile = {tile.m, tile.n, tile.qk_dim};
  launch.split = cut.splits;
  launch.stages = tile.stages;
  launch.cta = tile.cta;
  launch.ctas = tasks + cut.idle * row_tiles;
  launch.math = *math;
  launch.tasks = {{tasks, tile_demand(tile, work, heads, heads.qk_dim, stored, *math), clocks / step}};
  if (cut.idle > 0) launch.tasks.push_back({cut.idle * row_tiles, Demand{}, waits.idle / step});
  launch.plan_known = false;
  add_requirements(launch, s, *element, gpu, keys.all, widened);
  Plan plan{{std::move(launch)}};
  const double rows = total_queries(s.lengths()) * real(s.heads);
  if (cut.splits > 1) plan.launches.push_back(combine_launch(rows, heads.v_dim, cut.splits, *element, kMlaHelperTrips));
  add_helpers(plan, given, rows, keys.all, *element, *math, decoder, context);
  return plan;
}

}  // namespace tilecast
