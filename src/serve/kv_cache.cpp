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

Count KvGeometry::own_blocks_for(Count tokens, Count shared) const {
  if (plain()) return std::max<Count>(0, ceil_div(tokens, block_tokens) - shared / block_tokens);
  double common = 0;
  for (const Part& part : parts) {
    const Count first = part.window > 0 ? std::max<Count>(0, tokens - part.window) : 0;
    common += part.bytes * static_cast<double>(std::max<Count>(0, std::min(tokens, shared) - first));
  }
  const double block = block_bytes().base();
  const Count whole = block > 0 ? static_cast<Count>(common / block) : 0;
  return std::max<Count>(0, blocks_for(tokens) - whole);
}

KvCache::KvCache(Count blocks, KvGeometry geometry, bool reuse, const KvOffload& offload)
    : capacity_(blocks), free_(blocks), geometry_(std::move(geometry)), reuse_(reuse) {
  assert(blocks >= 0);
  if (offload.any() && reuse_ && geometry_.plain()) below_.emplace(offload);
}

KvCache::Match KvCache::found(const KvKey& key, Count tokens) const {
  Match found;
  if (!reuse_ || tokens < 1) return found;
  const Count most = (tokens - 1) / geometry_.block_tokens, shared = prefix_blocks(key);
  if (!key.path.empty()) {
    find_on_path(key, std::min(shared, most), found);
    if (found.blocks() < shared) return found;
  } else if (shared > 0) {
    look(prefix_id(key.prefix), std::min(shared, most), found.here.shared, found.shared_below);
    if (found.blocks() < shared) return found;  // its own part comes after
  }
  look(own_id(key.request), most - found.blocks(), found.here.own, found.own_below);
  return found;
}

Count KvCache::cached(const KvKey& key, Count tokens) const {
  return found(key, tokens).blocks() * geometry_.block_tokens;
}

Count KvCache::cached_idle_blocks(const KvKey& key, Count tokens) const {
  const Match m = found(key, tokens);
  const Count others = m.here.own + m.shared_below.sum() + m.own_below.sum();
  if (!key.path.empty()) return idle_on_path(key, m.here.shared + m.shared_below.sum()) + others;
  if (m.here.shared == 0 || chains_.find(prefix_id(key.prefix))->second.users > 0) return others;
  return size_of(m.here.shared) + others;
}

// A chain's blocks on the GPU and, where all of these are wanted, those that follow below.
void KvCache::look(Count id, Count wanted, Count& here, KvTiers::Found& below) const {
  const auto chain = chains_.find(id);
  const Count whole = chain != chains_.end() ? chain->second.blocks : 0;
  here = std::min(whole, wanted);
  if (below_ && here == whole) below = below_->found(id, wanted - here);
}

// One more uses the first `blocks` blocks of a chain, which are here. A longer one that nobody used loses its end: a
// chain is held as a whole.
void KvCache::pin(Count id, Count blocks) {
  const auto [at, fresh] = chains_.try_emplace(id);
  Chain& chain = at->second;
  if (chain.users++ > 0 || fresh) return;
  queue_.erase(chain.place);
  idle_ -= size_of(chain.blocks);
  free_ += size_of(chain.blocks) - size_of(blocks);
  chain.blocks = blocks;
}

// Takes blocks out of the tiers below. Room on the GPU is made when all are taken, lest what is written down for the
// first pushes out the next.
Count KvCache::load(Count id, const KvTiers::Found& found) {
  if (found.sum() > 0) below_->load(id, found);
  return found.sum();
}

Count KvCache::load_prefix(Count id, const KvTiers::Found& found) {
  Chain& chain = chains_.find(id)->second;
  const Count loaded = load(id, found);
  chain.blocks += loaded;
  if (chain.users == 1) below_->drop(id);
  return loaded;
}

Count KvCache::take(KvHolding& holding, const KvKey& key, Count tokens) {
  assert(holding.blocks() == 0);
  const Match m = found(key, tokens);
  holding = m.here;
  const Count shared = m.here.shared + m.shared_below.sum();
  // All that is here is held first, so that nothing of it is given up for what comes from below.
  if (!key.path.empty()) pin_path(key, shared);
  else if (shared > 0) pin(prefix_id(key.prefix), m.here.shared);
  if (const auto own = chains_.find(own_id(key.request)); own != chains_.end()) {
    // What is not used of it (the prompt's last block) is free.
    queue_.erase(own->second.place);
    idle_ -= own->second.blocks;
    free_ += own->second.blocks - m.here.own;
    chains_.erase(own);
  }
  if (!below_) return holding.blocks() * geometry_.block_tokens;
  if (!key.path.empty()) holding.shared += load_path(key, shared);
  else if (shared > 0) holding.shared += load_prefix(prefix_id(key.prefix), m.shared_below);
  holding.own += load(own_id(key.request), m.own_below);
  below_->drop(own_id(key.request));
  const Count loaded = m.shared_below.sum() + m.own_below.sum();
  if (loaded > free_) give_up(loaded - free_);
  free_ -= loaded;
  return holding.blocks() * geometry_.block_tokens;
}

Count KvCache::lacking_blocks(const KvHolding& holding, Count tokens) const {
  const Count need = holding.shared == 0 ? blocks_for(tokens)
                                         : geometry_.own_blocks_for(tokens, holding.shared * geometry_.block_tokens);
  return std::max<Count>(0, need - holding.own);
}

Count KvCache::blocks_for(Count tokens) const {
  constexpr std::size_t kMostKept = std::size_t{1} << 17;
  const auto whole = static_cast<std::size_t>(ceil_div(tokens, geometry_.block_tokens));
  if (geometry_.plain()) return static_cast<Count>(whole);
  if (whole >= kMostKept) return geometry_.blocks_for(tokens);
  if (whole >= blocks_for_.size()) blocks_for_.resize(whole + whole / 2 + 1, 0);
  std::int32_t& kept = blocks_for_[whole];
  if (kept == 0) kept = static_cast<std::int32_t>(geometry_.blocks_for(tokens)) + 1;
  return kept - 1;
}

bool KvCache::grow_by_blocks(KvHolding& holding, Count tokens) {
  const Count more = lacking_blocks(holding, tokens);
  if (more > available()) return false;
  if (more > free_) give_up(more - free_);
  free_ -= more;
  holding.own += more;
  // Up to the end of the last token's block no more are needed. Beside what is shared windows let go of blocks as they
  // move, so that fewer tokens may need more.
  if (holding.shared == 0 || geometry_.plain()) holding.covers = round_up(tokens, geometry_.block_tokens);
  return true;
}

void KvCache::give_up(Count blocks) {
  while (blocks > 0) {
    const auto chain = chains_.find(queue_.front());
    const bool whole = !geometry_.plain();
    const Count gone = whole ? size_of(chain->second.blocks) : std::min(blocks, chain->second.blocks);
    chain->second.blocks = whole ? 0 : chain->second.blocks - gone;
    blocks -= gone;
    idle_ -= gone;
    free_ += gone;
    if (below_) below_->store(chain->first, gone);
    if (chain->second.blocks > 0) continue;
    queue_.pop_front();
    chains_.erase(chain);
  }
}

// Of a model with windows or states, once its prefix is computed to its end.
void KvCache::publish_whole(KvHolding& holding, const KvKey& key, Count tokens) {
  const Count shared = prefix_blocks(key), whole = shared * geometry_.block_tokens;
  if (shared == 0 || holding.shared > 0 || tokens < whole || chains_.contains(prefix_id(key.prefix))) return;
  // What the request goes on seeing is the chain's from now on; what its windows have left behind stays for it alone.
  const Count handed_over =
      std::min(holding.own, geometry_.blocks_for(tokens) - geometry_.own_blocks_for(tokens, whole));
  const Count more = size_of(shared) - handed_over;
  if (more > available()) return;
  if (more > free_) give_up(more - free_);
  free_ -= more;
  holding.own -= handed_over;
  holding.shared = shared, holding.covers = 0;
  chains_[prefix_id(key.prefix)] = {shared, 1, {}};
}

void KvCache::publish(KvHolding& holding, const KvKey& key, Count tokens) {
  if (!reuse_) return;
  if (!geometry_.plain()) {
    publish_whole(holding, key, tokens);
    return;
  }
  const Count done = std::min(prefix_blocks(key), tokens / geometry_.block_tokens);
  if (!key.path.empty()) {
    publish_path(holding, key, done);
    return;
  }
  const Count more = std::min(done - holding.shared, holding.own);
  if (more <= 0) return;
  const auto [chain, fresh] = chains_.try_emplace(prefix_id(key.prefix));
  Chain& c = chain->second;
  // Somebody else computed the same blocks meanwhile: ours stay copies.
  if (!fresh && c.blocks > holding.shared) return;
  if (holding.shared == 0) ++c.users;
  c.blocks += more;
  if (below_) below_->forget_first(chain->first, more);
  holding.own -= more;
  holding.shared += more;
}

void KvCache::clear() {
  assert(held() == 0);
  chains_.clear(), queue_.clear();
  free_ = capacity_, idle_ = 0;
  if (below_) below_->clear();
}

void KvCache::retire(Count id, Chain& chain) {
  chain.place = queue_.insert(queue_.end(), id);
  idle_ += size_of(chain.blocks);
}

void KvCache::release(KvHolding& holding, const KvKey& key, Count tokens) {
  Count kept = 0;
  // Only whole, computed blocks that follow what is shared can be found again.
  if (reuse_ && geometry_.plain())
    kept = std::clamp<Count>(tokens / geometry_.block_tokens - holding.shared, 0, holding.own);
  // A request that was preempted asks for them again; of one that has ended they only wait their turn in the queue.
  free_ += holding.own - kept;
  if (kept > 0) {
    discard_own(key.request);
    Chain& own = chains_[own_id(key.request)];
    own.blocks = kept;
    retire(own_id(key.request), own);
  }
  if (!key.path.empty()) {
    release_path(key, holding.shared);
  } else if (holding.shared > 0) {
    const auto chain = chains_.find(prefix_id(key.prefix));
    if (--chain->second.users == 0) retire(chain->first, chain->second);
  }
  holding = {};
}

}  // namespace tilecast
