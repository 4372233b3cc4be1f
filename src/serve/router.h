// Which replica of a pool a request goes to.
//
// - round robin: in turns.
// - least loaded: the one with the fewest requests in flight, of several the next in turn.
// - power of two: two drawn at random, the less loaded of them (SGLang's router, policies/power_of_two.rs).
// - prefix aware: SGLang's cache_aware (sgl-router/src/policies/cache_aware.rs, commit 026f853; defaults of SGLang's
// model
//   gateway, docs/getting-started/load-balancing.md of lightseekorg/smg). The router remembers which beginnings it sent
//   where; it does not look into the caches. Where loads differ by more than an absolute and a relative threshold the
//   least loaded replica is taken, whatever it holds. Else the one that was sent the longest part of the prompt, if
//   that is more than a share of it; else the one that was sent least (the smallest tree). Between equals, the less
//   loaded.
#pragma once

#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "serve/workload.h"
#include "support/random.h"
#include "tilecast/serving_metrics.h"

namespace tilecast {

// SGLang's --cache-threshold, --balance-abs-threshold, --balance-rel-threshold and --max-tree-size.
struct PrefixRouting {
  double share = 0.3;
  Count apart = 64;
  double ratio = 1.5;
  Count most_tokens = Count{1} << 26;  // remembered of one replica; the least recently sent are forgotten
};

class ReplicaRouter {
 public:
  ReplicaRouter(Router kind, Count replicas, const PrefixRouting& prefixes = {}, std::uint64_t seed = 0);

  // Of the replicas that are open, at least one; its load is one more from now on. `beginnings`: parts of the prompt
  // that others may begin with too, from its start on.
  Count choose(Count input, std::span<const PathSegment> beginnings);
  Count choose(const Request& request) {
    const PathSegment prefix{request.prefix, request.prefix_tokens};
    return choose(request.input, {&prefix, request.prefix >= 0 ? std::size_t{1} : std::size_t{0}});
  }
  void ended(Count replica) { --members_[at(replica)].load; }

  Count load(Count replica) const { return members_[at(replica)].load; }
  bool is_open(Count replica) const { return members_[at(replica)].open; }
  Count open() const { return open_; }
  Count in_flight() const;
  // A closed replica gets no more requests; one that is opened again remembers nothing.
  void set_open(Count replica, bool open);

 private:
  struct Sent {
    Count tokens = 0;  // from the prompt's start
    Count own = 0;     // of these, behind the part before it
    Count stamp = 0;   // of the entry in `order` that counts
  };
  struct Entry {
    Count part = kUnshared, tokens = 0, stamp = 0;
  };
  static constexpr Count kUnshared = -1;  // no part's name
  struct Member {
    Count load = 0;
    bool open = true;
    Count remembered = 0;                   // tokens
    std::unordered_map<Count, Sent> known;  // parts of prompts
    std::deque<Entry> order;                // the least recently sent first
  };
  static std::size_t at(Count i) { return static_cast<std::size_t>(i); }
  Count next_in_turn();
  Count least_loaded(Count first) const;
  Count of_two();
  Count by_prefix(Count input, std::span<const PathSegment> beginnings);
  bool unbalanced() const;
  void remember(Member& member, Count input, std::span<const PathSegment> beginnings);
  void forget(Member& member);

  Router kind_;
  PrefixRouting prefixes_;
  std::vector<Member> members_;
  Count open_, turn_ = 0, stamp_ = 0;
  Random random_;
};

}  // namespace tilecast
