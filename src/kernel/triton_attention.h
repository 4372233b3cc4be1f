// Attention of prompts by Triton's kernels. SGLang's are extend_attention_fwd, which serves prompts after a cached
// prefix, and context_attention_fwd, which encoders run (python/sglang/srt/layers/attention/triton_ops). Blocks depend
// on compute capability, heads are padded to a power of two, and the grid walks batch and heads before rows. vLLM's is
// kernel_unified_attention_2d (vllm/attention/ops/triton_unified_attention.py): 16 rows of a group's heads a CTA.
#pragma once

#include "kernel/context.h"
#include "kernel/flash_tile.h"

namespace tilecast {

// Whether SGLang's kernels run.
bool is_triton_attention(const Context& context, const Gpu& gpu);
// Whether vLLM's do.
bool is_unified_attention(const Context& context, const Gpu& gpu);

// Their blocks and warps. `served`: behind a cache of keys.
FlashTile triton_tile(const TileQuestion& question, bool served, const Gpu& gpu);

FlashTile unified_tile(const TileQuestion& question, const Gpu& gpu);

// Share of the waits that a CTA of four warps has: eight take turns on the SM's four tensor pipes by themselves.
double triton_warp_share(const FlashTile& tile, const Gpu& gpu);

// Blocks of keys before a window are visited, masked and skipped; counted here as blocks of work.
Count triton_passed_blocks(Count before_window);

// Clocks of an element of K, V, Q or the result beyond what an aligned one takes: Triton only knows that a row is
// aligned if its length is a multiple of sixteen. Otherwise every element has its own address, more than the registers
// can hold.
double triton_element_clocks(const FlashTile& tile, const AttentionHeads& heads, const Gpu& gpu);

// Times that K and V stream past the cache: concurrent CTAs first cover other requests and heads, so each round of rows
// reads all keys again. `pairs`: requests times query heads.
double triton_key_passes(const FlashTile& tile, double pairs, double row_tiles, bool causal, const Gpu& gpu);

}  // namespace tilecast
