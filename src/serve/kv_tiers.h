// What lies below a GPU's cache of keys and values: host memory, and a disk below that.
//
// Blocks that the GPU gives up are written to the host (write-back), what the host gives up to the disk, least recently
// used first; a block is in one place only. A request that finds its beginning below has it loaded before its prompt is
// computed, layer by layer beside the computation, so that its step takes at least as long as the loading. So work
// TensorRT-LLM's host cache (KvCacheConfig: host_cache_size) and SGLang's HiCache with --hicache-write-policy write_back;
// HiCache's default, write_through, and LMCache keep copies above, so that a host of their size holds less beside the
// GPU. vLLM's OffloadingConnector lets others run while a request's blocks are loaded, which is not modelled.
//
// Engines load whatever they find. Where `always` is off, a block is loaded only where that is faster than computing it,
// and a tier from which it never is holds nothing.
#pragma once

#include <array>
#include <list>
#include <unordered_map>
#include <utility>

#include "tilecast/units.h"

namespace tilecast {

struct KvTier {
  Count blocks = 0;   // that it holds; 0: there is none
  Seconds per_block;  // to load one, or to store it
  Seconds latency;    // of a transfer, whatever its size
};

struct KvOffload {
  std::array<KvTier, 2> tiers{};  // host memory, disk
  Seconds compute_block;          // computing a block's tokens anew
  bool always = false;            // load whatever is found
  bool any() const { return tiers[0].blocks > 0 || tiers[1].blocks > 0; }
};

// Blocks that went up and down.
struct KvMoves {
  std::array<Count, 2> loaded{}, stored{};  // by tier
  bool any() const { return loaded[0] + loaded[1] + stored[0] + stored[1] > 0; }
};
// How long the GPU's link is busy with them, either way. What goes from the host to the disk holds nobody up.
Seconds time_of(const KvMoves& moves, const KvOffload& offload);

class KvTiers {
 public:
  explicit KvTiers(const KvOffload& offload);

  struct Found {
    std::array<Count, 2> blocks{};
    Count sum() const { return blocks[0] + blocks[1]; }
  };
  // Of a chain, the blocks that follow those on the GPU: at most so many, and worth loading.
  Found found(Count chain, Count most) const;
  // Takes them out.
  void load(Count chain, const Found& found);
  // The GPU gives up the last `blocks` blocks of what it has of a chain.
  void store(Count chain, Count blocks);
  // The GPU has computed the chain's next `blocks` blocks: copies of them below are of no use.
  void forget_first(Count chain, Count blocks);
  void drop(Count chain) { forget_first(chain, kAll); }
  void clear();

  KvMoves take_moves() { return std::exchange(moves_, {}); }
  Count held(std::size_t tier) const { return held_[tier]; }

 private:
  static constexpr Count kAll = Count{1} << 62;
  // A chain's blocks in either tier, those of the host before those of the disk, and its place in their queues.
  struct Part {
    std::array<Count, 2> blocks{};
    std::array<std::list<Count>::iterator, 2> place{};
  };
  bool worth(std::size_t tier, Count blocks) const;
  void put(std::size_t tier, Count chain, Count blocks);
  void remove(std::size_t tier, Part& part, Count blocks);
  void make_room(std::size_t tier);
  void erase_empty(Count chain);

  KvOffload offload_;
  std::array<Count, 2> held_{};
  std::array<std::list<Count>, 2> queues_;  // chains, the least recently given up first
  std::unordered_map<Count, Part> parts_;
  KvMoves moves_;
};

}  // namespace tilecast
