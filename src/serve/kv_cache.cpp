#include "serve/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tilecast {

Bytes KvGeometry::block_bytes() const {
  double sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return bytes(sum * static_cast<double>(block_tokens));
}

Count KvGeometry::blocks_for(Count tokens) const {
  if (plain()) return ceil_div(tokens, block_tokens);
  const Count whole = round_up(tokens, block_tokens);
  double kept = tokens > 0 ? state : 0;
  for (const Part& part : parts) {
    // A window keeps its tokens and, where it does not start at a block's edge, the rest of one more block.
    const Count most = part.window > 0 ? round_up(part.window, block_tokens) + block_tokens : whole;
    kept += part.bytes * static_cast<double>(std::min(whole, most));
  }
  const double block = block_bytes().base();
  return block > 0 ? static_cast<Count>(std::ceil(kept / block - 1e-9)) : 0;
}

KvCache::KvCache(Count blocks, KvGeometry geometry, bool reuse)
    : capacity_(blocks), free_(blocks), geometry_(std::move(geometry)), reuse_(reuse && geometry_.plain()) {
  assert(blocks >= 0);
}

KvHolding KvCache::found(const KvKey& key, Count tokens) const {
  KvHolding found;
  if (!reuse_ || tokens < 1) return found;
  const Count most = (tokens - 1) / geometry_.block_tokens, shared = prefix_blocks(key);
  if (shared > 0) {
    const auto chain = chains_.find(prefix_id(key.prefix));
    if (chain != chains_.end()) found.shared = std::min({chain->second.blocks, shared, most});
    if (found.shared < shared) return found;  // its own part comes after
  }
  const auto own = chains_.find(own_id(key.request));
  if (own != chains_.end()) found.own = std::min(own->second.blocks, most - found.shared);
  return found;
}

Count KvCache::cached(const KvKey& key, Count tokens) const {
  return found(key, tokens).blocks() * geometry_.block_tokens;
}

Count KvCache::cached_idle_blocks(const KvKey& key, Count tokens) const {
  const KvHolding f = found(key, tokens);
  if (f.shared == 0 || chains_.find(prefix_id(key.prefix))->second.users > 0) return f.own;
  return f.blocks();
}

Count KvCache::take(KvHolding& holding, const KvKey& key, Count tokens) {
  assert(holding.blocks() == 0);
  holding = found(key, tokens);
  if (holding.shared > 0) {
    Chain& chain = chains_.find(prefix_id(key.prefix))->second;
    if (chain.users++ == 0) {
      // A longer prefix of the same name loses its end: a chain is pinned as a whole.
      queue_.erase(chain.place);
      idle_ -= chain.blocks;
      free_ += chain.blocks - holding.shared;
      chain.blocks = holding.shared;
    }
  }
  if (const auto own = chains_.find(own_id(key.request)); own != chains_.end()) {
    // What is not used of it (the prompt's last block) is free.
    queue_.erase(own->second.place);
    idle_ -= own->second.blocks;
    free_ += own->second.blocks - holding.own;
    chains_.erase(own);
  }
  return holding.blocks() * geometry_.block_tokens;
}

Count KvCache::lacking(const KvHolding& holding, Count tokens) const {
  return std::max<Count>(0, geometry_.blocks_for(tokens) - holding.blocks());
}

bool KvCache::grow(KvHolding& holding, Count tokens) {
  const Count more = lacking(holding, tokens);
  if (more == 0) return true;
  if (more > available()) return false;
  if (more > free_) give_up(more - free_);
  free_ -= more;
  holding.own += more;
  return true;
}

void KvCache::give_up(Count blocks) {
  while (blocks > 0) {
    const auto chain = chains_.find(queue_.front());
    const Count gone = std::min(blocks, chain->second.blocks);
    chain->second.blocks -= gone;
    blocks -= gone;
    idle_ -= gone;
    free_ += gone;
    if (chain->second.blocks > 0) continue;
    queue_.pop_front();
    chains_.erase(chain);
  }
}

void KvCache::publish(KvHolding& holding, const KvKey& key, Count tokens) {
  if (!reuse_) return;
  const Count done = std::min(prefix_blocks(key), tokens / geometry_.block_tokens);
  const Count more = std::min(done - holding.shared, holding.own);
  if (more <= 0) return;
  const auto [chain, fresh] = chains_.try_emplace(prefix_id(key.prefix));
  Chain& c = chain->second;
  // Somebody else computed the same blocks meanwhile: ours stay copies.
  if (!fresh && c.blocks > holding.shared) return;
  if (holding.shared == 0) ++c.users;
  c.blocks += more;
  holding.own -= more;
  holding.shared += more;
}

void KvCache::retire(Count id, Chain& chain) {
  chain.place = queue_.insert(queue_.end(), id);
  idle_ += chain.blocks;
}

void KvCache::release(KvHolding& holding, const KvKey& key, Count tokens) {
  Count kept = 0;
  // Only whole, computed blocks that follow what is shared can be found again.
  if (reuse_) kept = std::clamp<Count>(tokens / geometry_.block_tokens - holding.shared, 0, holding.own);
  // A request that was preempted asks for them again; of one that has ended they only wait their turn in the queue.
  free_ += holding.own - kept;
  if (kept > 0) {
    Chain& own = chains_[own_id(key.request)];
    own.blocks = kept;
    retire(own_id(key.request), own);
  }
  if (holding.shared > 0) {
    const auto chain = chains_.find(prefix_id(key.prefix));
    if (--chain->second.users == 0) retire(chain->first, chain->second);
  }
  holding = {};
}

}  // namespace tilecast
