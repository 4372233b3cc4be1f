// The paged cache of keys and values as a count of blocks: who holds them, and which of them a later request finds
// again.
//
// Blocks are counted, not numbered. Blocks with the same beginning form a chain: a shared prefix, or what one request
// computed. A chain that somebody uses is pinned; one that nobody uses stays until its blocks are needed, least
// recently used chain first, from its end: the order in which vLLM's free queue hands out blocks that a request
// returned (vllm/v1/core/block_pool.py, freed last block first) and in which SGLang's radix tree loses its leaves.
//
// Windows and states. A prefix is found again where its keys without a window are all there and, of layers with one,
// the last window of it (vLLM: docs/design/hybrid_kv_cache_manager; SGLang: SWARadixCache; TensorRT-LLM: a pool a
// window). A chain of such a model keeps just that, and a state where layers have one. Its end goes first, so the first
// block given up makes the rest useless: it is lost as a whole. A request that was preempted finds nothing of its own
// again.
//
// Below. Blocks that are given up may go to the host's memory and on to a disk (serve/kv_tiers.h), from where a request
// that finds them again loads them. A chain lies on the GPU from its first block on, what follows below.
//
//   free + idle + held = capacity, always.
#pragma once

#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "serve/kv_tiers.h"
#include "serve/workload.h"
#include "tilecast/units.h"

namespace tilecast {

// What a sequence keeps of its tokens.
struct KvGeometry {
  struct Part {
    double bytes = 0;  // a token
    Count window = 0;  // tokens kept at most; 0: all
  };
  Count block_tokens = 16;
  std::vector<Part> parts;
  double state = 0;  // bytes of a sequence whatever its length (linear attention)

  Bytes block_bytes() const;  // of `block_tokens` tokens in all parts
  // Blocks' worth of bytes that `tokens` tokens keep: their number over the block's size, rounded up, where nothing has
  // a window or a state.
  Count blocks_for(Count tokens) const;
  // ... beside what it shares of its first `shared` tokens: keys without a window, and those its windows still see.
  Count own_blocks_for(Count tokens, Count shared) const;
  bool plain() const { return state == 0 && parts.size() == 1 && parts.front().window == 0; }
};

// Names what a request's keys are: the shared beginning of its prompt, and the rest of its own.
struct KvKey {
  Count request = 0;  // or the conversation, whose next turn finds what this one leaves
  Count prefix = -1;  // -1: none
  Count prefix_tokens = 0;
  std::span<const PathSegment> path = {};  // in place of a prefix: segments that requests share as a tree has them
};

// What a request holds.
struct KvHolding {
  Count shared = 0;  // blocks of tokens in its prefix's chain
  Count own = 0;     // all others
  Count covers = 0;  // tokens, and any fewer, that these are known to be enough for
  Count blocks() const { return shared + own; }
};

class KvCache {
 public:
  // `reuse`: blocks are kept after use and found again (automatic prefix caching, radix cache).
  // `offload`: tiers below, for models without windows and states.
  KvCache(Count blocks, KvGeometry geometry, bool reuse, const KvOffload& offload = {});

  Count capacity() const { return capacity_; }
  Count available() const { return free_ + idle_; }  // for the asking: free, or idle and given up for it
  Count held() const { return capacity_ - available(); }
  Count idle() const { return idle_; }
  double utilisation() const { return capacity_ ? static_cast<double>(held()) / static_cast<double>(capacity_) : 0; }
  const KvGeometry& geometry() const { return geometry_; }

  // Of a request's first `tokens` tokens, those whose keys are here or worth loading: whole blocks, and never all of
  // them, since the last token must be computed to have something to sample from.
  Count cached(const KvKey& key, Count tokens) const;
  // Blocks that taking hold of them makes unavailable: those that are idle now, and those to load others into.
  Count cached_idle_blocks(const KvKey& key, Count tokens) const;
  // Takes hold of them; `holding` must be empty. Returns their tokens.
  Count take(KvHolding& holding, const KvKey& key, Count tokens);
  // Blocks for `tokens` tokens in all; false, and nothing changed, where not enough are available.
  bool grow(KvHolding& holding, Count tokens) {
    // Most tokens fit the block of the one before.
    return tokens <= holding.covers || grow_by_blocks(holding, tokens);
  }
  // Blocks that grow() would have to find.
  Count lacking(const KvHolding& holding, Count tokens) const {
    return tokens <= holding.covers ? 0 : lacking_blocks(holding, tokens);
  }
  // The first `tokens` tokens are computed: others may use what they share.
  void publish(KvHolding& holding, const KvKey& key, Count tokens);
  // Gives everything back. The first `tokens` tokens were computed.
  void release(KvHolding& holding, const KvKey& key, Count tokens);

  // Blocks that came from below or went there since this was asked last.
  KvMoves take_moves() { return below_ ? below_->take_moves() : KvMoves{}; }
  // The engine starts anew: nobody holds anything, and nothing is found again.
  void clear();

 private:
  struct Chain {
    Count blocks = 0;
    Count users = 0;
    std::list<Count>::iterator place;  // in the queue, while nobody uses it
  };
  using Chains = std::unordered_map<Count, Chain>;
  static Count prefix_id(Count prefix) { return 2 * prefix; }
  static Count own_id(Count request) { return 2 * request + 1; }
  Count prefix_blocks(const KvKey& key) const {
    if (!key.path.empty()) return geometry_.plain() ? key.path.back().tokens / geometry_.block_tokens : 0;
    return key.prefix < 0 ? 0 : key.prefix_tokens / geometry_.block_tokens;
  }
  // Blocks found of the prefix and of the request's own chain: on the GPU, and below.
  struct Match {
    KvHolding here;
    KvTiers::Found shared_below, own_below;
    Count blocks() const { return here.blocks() + shared_below.sum() + own_below.sum(); }
  };
  bool grow_by_blocks(KvHolding& holding, Count tokens);
  Count lacking_blocks(const KvHolding& holding, Count tokens) const;
  Match found(const KvKey& key, Count tokens) const;
  void look(Count id, Count wanted, Count& here, KvTiers::Found& below) const;
  void pin(Count id, Count blocks);
  Count load(Count id, const KvTiers::Found& found);
  Count load_prefix(Count id, const KvTiers::Found& found);
  // The geometry's blocks_for(), each number of blocks of tokens worked out once: every request asks in every step.
  Count blocks_for(Count tokens) const;
  // Blocks' worth of bytes of a chain of so many blocks of tokens.
  Count size_of(Count blocks) const { return geometry_.blocks_for(blocks * geometry_.block_tokens); }
  void give_up(Count blocks);
  void publish_whole(KvHolding& holding, const KvKey& key, Count tokens);
  void retire(Count id, Chain& chain);
  // The same along a path, segment by segment (kv_path.cpp). A segment is held by all who hold one behind it.
  template <class Visit>
  void each_segment(const KvKey& key, Count blocks, Visit visit) const;
  void find_on_path(const KvKey& key, Count most, Match& match) const;
  Count idle_on_path(const KvKey& key, Count blocks) const;
  void pin_path(const KvKey& key, Count blocks);
  Count load_path(const KvKey& key, Count blocks);
  void publish_path(KvHolding& holding, const KvKey& key, Count done);
  void release_path(const KvKey& key, Count blocks);
  void discard_own(Count request);  // what an earlier turn left and this one did not take up

  Count capacity_, free_, idle_ = 0;
  KvGeometry geometry_;
  bool reuse_;
  mutable std::vector<std::int32_t> blocks_for_;  // by blocks of tokens, one more than they are; 0: not worked out
  std::optional<KvTiers> below_;
  Chains chains_;
  std::list<Count> queue_;  // chains nobody uses, least recently used first
};

}  // namespace tilecast
