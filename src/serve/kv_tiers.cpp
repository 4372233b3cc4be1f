#include "serve/kv_tiers.h"

#include <algorithm>

namespace tilecast {
namespace {

constexpr std::size_t kHost = 0, kDisk = 1;

Seconds transfer_time(const KvTier& tier, Count blocks) {
  return blocks > 0 ? tier.latency + tier.per_block * static_cast<double>(blocks) : seconds(0);
}

}  // namespace

Seconds time_of(const KvMoves& moves, const KvOffload& offload) {
  const KvTier &host = offload.tiers[kHost], &disk = offload.tiers[kDisk];
  // What comes from the disk goes through the host's memory; the two ways follow each other block by block.
  const Seconds up = std::max(transfer_time(host, moves.loaded[kHost] + moves.loaded[kDisk]),
                              transfer_time(disk, moves.loaded[kDisk]));
  if (host.blocks > 0) return std::max(up, transfer_time(host, moves.stored[kHost]));
  // Without a host's memory between them, what the GPU gives up goes all the way.
  return std::max({up, transfer_time(host, moves.stored[kDisk]), transfer_time(disk, moves.stored[kDisk])});
}

KvTiers::KvTiers(const KvOffload& offload) : offload_(offload) {
  if (offload_.always) return;
  for (KvTier& tier : offload_.tiers)
    if (tier.per_block >= offload_.compute_block) tier.blocks = 0;
}

bool KvTiers::worth(std::size_t tier, Count blocks) const {
  return offload_.always ||
         transfer_time(offload_.tiers[tier], blocks) < offload_.compute_block * static_cast<double>(blocks);
}

KvTiers::Found KvTiers::found(Count chain, Count most) const {
  Found found;
  const auto part = parts_.find(chain);
  if (part == parts_.end() || most <= 0) return found;
  for (const std::size_t tier : {kHost, kDisk}) {
    const Count blocks = std::min(part->second.blocks[tier], most);
    if (blocks > 0 && !worth(tier, blocks)) break;
    found.blocks[tier] = blocks;
    most -= blocks;
    if (blocks < part->second.blocks[tier]) break;
  }
  return found;
}

void KvTiers::remove(std::size_t tier, Part& part, Count blocks) {
  if (blocks <= 0) return;
  part.blocks[tier] -= blocks;
  held_[tier] -= blocks;
  if (part.blocks[tier] == 0) queues_[tier].erase(part.place[tier]);
}

void KvTiers::erase_empty(Count chain) {
  const auto part = parts_.find(chain);
  if (part != parts_.end() && part->second.blocks[kHost] + part->second.blocks[kDisk] == 0) parts_.erase(part);
}

void KvTiers::load(Count chain, const Found& found) {
  const auto part = parts_.find(chain);
  if (part == parts_.end()) return;
  for (const std::size_t tier : {kHost, kDisk}) {
    remove(tier, part->second, found.blocks[tier]);
    moves_.loaded[tier] += found.blocks[tier];
  }
  erase_empty(chain);
}

void KvTiers::forget_first(Count chain, Count blocks) {
  const auto part = parts_.find(chain);
  if (part == parts_.end()) return;
  for (const std::size_t tier : {kHost, kDisk}) {
    const Count gone = std::min(blocks, part->second.blocks[tier]);
    remove(tier, part->second, gone);
    blocks -= gone;
  }
  erase_empty(chain);
}

void KvTiers::put(std::size_t tier, Count chain, Count blocks) {
  Part& part = parts_[chain];
  if (part.blocks[tier] == 0) part.place[tier] = queues_[tier].insert(queues_[tier].end(), chain);
  part.blocks[tier] += blocks;
  held_[tier] += blocks;
  moves_.stored[tier] += blocks;
}

void KvTiers::store(Count chain, Count blocks) {
  const std::size_t first = offload_.tiers[kHost].blocks > 0 ? kHost : kDisk;
  if (offload_.tiers[first].blocks == 0) return;
  put(first, chain, blocks);
  for (std::size_t tier = first; tier <= kDisk; ++tier) make_room(tier);
}

// From the end of the least recently given up, to the disk or for good.
void KvTiers::make_room(std::size_t tier) {
  while (held_[tier] > offload_.tiers[tier].blocks) {
    const Count chain = queues_[tier].front();
    Part& part = parts_.find(chain)->second;
    const Count gone = std::min(held_[tier] - offload_.tiers[tier].blocks, part.blocks[tier]);
    remove(tier, part, gone);
    // The disk takes them only next to what it has of the chain: the end of the host's part lies just before it.
    if (tier == kHost && offload_.tiers[kDisk].blocks > 0) put(kDisk, chain, gone);
    else erase_empty(chain);
  }
}

void KvTiers::clear() {
  parts_.clear();
  for (auto& queue : queues_) queue.clear();
  held_ = {};
}

}  // namespace tilecast
