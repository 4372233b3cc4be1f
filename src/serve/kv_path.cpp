// Prefixes that requests share as a tree has them: a chain a segment, held from the root on.
#include <algorithm>
#include <vector>

#include "serve/kv_cache.h"

namespace tilecast {

// Calls visit(id, first block of the segment, blocks of it) for the segments that the first `blocks` blocks reach.
template <class Visit>
void KvCache::each_segment(const KvKey& key, Count blocks, Visit visit) const {
  Count first = 0;
  for (const PathSegment& segment : key.path) {
    if (first >= blocks) return;
    const Count end = segment.tokens / geometry_.block_tokens;
    if (end > first && !visit(prefix_id(segment.id), first, std::min(end, blocks) - first)) return;
    first = std::max(first, end);
  }
}

void KvCache::find_on_path(const KvKey& key, Count most, Match& match) const {
  each_segment(key, most, [&](Count id, Count, Count blocks) {
    Count here = 0;
    KvTiers::Found below;
    look(id, blocks, here, below);
    match.here.shared += here;
    for (std::size_t tier = 0; tier < below.blocks.size(); ++tier)
      match.shared_below.blocks[tier] += below.blocks[tier];
    return here + below.sum() == blocks;
  });
}

Count KvCache::idle_on_path(const KvKey& key, Count blocks) const {
  Count idle = 0;
  each_segment(key, blocks, [&](Count id, Count, Count of_segment) {
    const auto chain = chains_.find(id);
    if (chain != chains_.end() && chain->second.users == 0) idle += std::min(chain->second.blocks, of_segment);
    return true;
  });
  return idle;
}

void KvCache::pin_path(const KvKey& key, Count blocks) {
  each_segment(key, blocks, [&](Count id, Count, Count of_segment) {
    const auto chain = chains_.find(id);
    pin(id, chain == chains_.end() ? 0 : std::min(chain->second.blocks, of_segment));
    return true;
  });
}

Count KvCache::load_path(const KvKey& key, Count blocks) {
  Count loaded = 0;
  each_segment(key, blocks, [&](Count id, Count, Count of_segment) {
    const Count missing = of_segment - chains_.find(id)->second.blocks;
    loaded += load_prefix(id, missing > 0 ? below_->found(id, missing) : KvTiers::Found{});
    return true;
  });
  return loaded;
}

void KvCache::publish_path(KvHolding& holding, const KvKey& key, Count done) {
  if (done <= holding.shared) return;
  each_segment(key, done, [&](Count id, Count first, Count blocks) {
    if (first + blocks <= holding.shared) return true;
    const Count had = std::max<Count>(0, holding.shared - first);
    const auto [chain, fresh] = chains_.try_emplace(id);
    Chain& c = chain->second;
    // Somebody else computed the same blocks meanwhile: ours, and what follows them, stay copies.
    if (!fresh && c.blocks > had) return false;
    const Count more = std::min(blocks - had, holding.own);
    if (had == 0) ++c.users;
    c.blocks = had + more;
    if (below_) below_->forget_first(id, more);
    holding.own -= more;
    holding.shared = first + c.blocks;
    return more == blocks - had;
  });
}

void KvCache::discard_own(Count request) {
  const auto own = chains_.find(own_id(request));
  if (own == chains_.end()) return;
  queue_.erase(own->second.place);
  idle_ -= own->second.blocks;
  free_ += own->second.blocks;
  chains_.erase(own);
}

void KvCache::release_path(const KvKey& key, Count blocks) {
  // The end first: it is the first to be given up.
  std::vector<Count> held;
  each_segment(key, blocks, [&](Count id, Count, Count) {
    held.push_back(id);
    return true;
  });
  for (auto id = held.rbegin(); id != held.rend(); ++id) {
    const auto chain = chains_.find(*id);
    if (--chain->second.users == 0) retire(chain->first, chain->second);
  }
}

}  // namespace tilecast
