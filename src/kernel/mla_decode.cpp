#include "kernel/mla_decode.h"

#include <algorithm>

#include "kernel/attention_sources.h"
#include "kernel/flash_forward.h"
#include "support/arithmetic.h"

namespace tilecast {
namespace {

FlashTile mla_tile(const MlaDecode& s, AttentionAlgorithm algorithm, const AttentionBytes& element, const Gpu& gpu) {
  const Count rows = s.heads * s.q_len;
  FlashTile tile;
  tile.algorithm = algorithm;
  tile.packed = true;
  tile.known = false;
  tile.qk_dim = static_cast<int>(s.kv_lora + s.rope_dim);
  tile.v_dim = static_cast<int>(s.kv_lora);
  double shared = 0;
  if (algorithm ==
      AttentionAlgorithm::fa3) {  // FlashMLA: 64 heads x 64 tokens, two warp groups, double-buffered latent
    tile.m = tile.n = 64;
    tile.stages = 2;
    tile.readers = 2;
    tile.cta = {256, 255, bytes(0)};
  } else if (algorithm == AttentionAlgorithm::blackwell) {  // TRT-LLM-gen: up to 128 heads, 128 tokens
    tile.m = rows_up_to(rows, 8, 128);
    tile.n = 128;
    tile.readers = 1;
    tile.cta = {512, 128, bytes(0)};
  } else {  // the Triton kernel of vLLM and SGLang: 16 heads, 32 tokens
    tile.m = 16;
    tile.n = 32;
    tile.stages = 2;
    tile.readers = 4;
    tile.cta = {128, 255, bytes(0)};
  }
  // The latent lies in shared memory once, as key and value.
  shared = tile.qk_dim * (tile.m * element.q + tile.stages * tile.n * element.kv);
  tile.cta.shared_memory = std::min(bytes(shared), gpu.shared_memory.per_cta);
  return tile;
}

}  // namespace

Status MlaDecode::check() const {
  if (auto fit = check_heads(geometry()); !fit) return fit;
  if (auto fit = check_lists(batch, {}, lens); !fit) return fit;
  if (lens.empty() && kv_len == 0) return field_error("kv-len", "is missing", "give kv-len, or lens for each request");
  return check_lengths(lengths(), AttentionMask::causal, 0, geometry());
}

Result<Plan> plan(const MlaDecode& s, const Format& format, const Gpu& gpu, const Context&) {
  const auto math = decode_math(format, s.kv_dtype, gpu);
  if (!math) return math.error();
  const auto element = attention_bytes(format, s.kv_dtype);
  if (!element) return element.error();
  const auto algorithm = resolve_algorithm(AttentionAlgorithm::automatic, gpu);
  if (!algorithm) return algorithm.error();
  const AttentionHeads heads = s.geometry();
  const std::vector<Lengths> lengths = s.lengths();
  const FlashTile tile = mla_tile(s, *algorithm, *element, gpu);

  Count blocks = 0, requests = 0;
  double keys = 0;
  for (const Lengths& l : lengths) {
    blocks += l.requests * ceil_div(l.kv, tile.n);
    requests += l.requests;
    keys += real(l.requests) * real(l.kv);
  }
  // FlashMLA's scheduler cuts the tokens of all requests, laid end to end, into equal parts, one for each SM that a
  // tile of heads has (get_mla_metadata: SMs / head tiles). The other kernels' splits also aim to fill the SMs.
  const Count row_tiles = ceil_div(s.heads * s.q_len, tile.m);
  const Count wanted = std::max<Count>(1, gpu.sms * (*algorithm == AttentionAlgorithm::fa2 ? 2 : 1) / row_tiles);
  const Count per_part = ceil_div(blocks, std::min(blocks, wanted));
  const Count parts = ceil_div(blocks, per_part);
  const int splits = static_cast<int>(std::max<Count>(1, ceil_div(parts, requests)));

  // A part holds one request's share, or several whole requests.
  const Count rows_each = std::min<Count>(tile.m, s.heads * s.q_len) * std::max<Count>(1, requests / parts);
  AttentionBytes stored = *element;
  if (splits > 1) stored.out = 4;
  const TileWork work{per_part, rows_each, keys / real(parts)};
  Launch launch;
  launch.name = "mla_decode";
  launch.character = Character::attention;
  launch.tile = {tile.m, tile.n, tile.qk_dim};
  launch.split = splits;
  launch.stages = tile.stages;
  launch.cta = tile.cta;
  launch.ctas = parts * row_tiles;
  launch.math = *math;
  launch.tasks = {{launch.ctas, tile_demand(tile, work, heads, heads.qk_dim, stored, *math), real(per_part)}};
  launch.plan_known = false;

  const double pairs = total_pairs(lengths, AttentionMask::causal, 0) * real(s.heads);
  (math->pipe == Pipe::tensor ? launch.required.tensor : launch.required.vector) =
      ops(2 * pairs * real(heads.qk_dim + heads.v_dim));
  launch.required.xu = required_exponentials(pairs, gpu);
  const double rows = total_queries(lengths) * real(s.heads);
  launch.operands.add({"q", bytes(rows * real(heads.qk_dim) * element->q)});
  launch.operands.add({"latent", bytes(keys * real(heads.qk_dim) * element->kv)});
  launch.operands.add({"out", bytes(rows * real(heads.v_dim) * element->out), Operand::Role::activation, false, true});
  Plan plan{{std::move(launch)}};
  if (splits > 1) plan.launches.push_back(combine_launch(rows, heads.v_dim, splits, *element));
  return plan;
}

}  // namespace tilecast
