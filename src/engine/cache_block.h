// Tokens of a block of the cache: an engine's default, or what the attention kernel that it runs on a card asks for,
// which engines put in the place of other sizes as they start.
#pragma once

#include <string_view>

#include "engine/kinds.h"
#include "gpu/gpu.h"
#include "model/spec.h"

namespace tilecast {

struct CacheBlock {
  Count tokens = 0;
  std::string_view kernel = {};  // whose size it is, where that is not what was asked for (or the engine's default)
};

// `asked`: --block-size, --page-size, tokens_per_block; 0: the engine's default. `shared_keys`: sequences lie over
// tensor parallel ranks (decode-context-parallel-size).
CacheBlock cache_block(EngineKind engine, const Gpu& gpu, const ModelSpec& model, Count asked = 0,
                       bool shared_keys = false);

}  // namespace tilecast
