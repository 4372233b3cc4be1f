#include "engine/caching_allocator.h"

#include <algorithm>
#include <map>
#include <set>

#include "support/arithmetic.h"

namespace tilecast {
namespace {

constexpr Count kRounding = 512;               // kMinBlockSize
constexpr Count kSmall = Count{1} << 20;       // kSmallSize: at most so much comes from small segments
constexpr Count kSmallSegment = Count{2} << 20;   // kSmallBuffer
constexpr Count kLargeSegment = Count{20} << 20;  // kLargeBuffer, for less than ...
constexpr Count kOwnSegment = Count{10} << 20;    // ... kMinLargeAlloc; more has a segment of its own, rounded to
constexpr Count kSegmentRounding = Count{2} << 20;  // kRoundLarge

// Blocks of one pool, small or large, by their place; a segment's places do not touch another's.
class Pool {
 public:
  explicit Pool(bool small) : small_(small) {}

  // The place of a block of at least `size` bytes, already rounded.
  Count take(Count size) {
    auto best = free_.lower_bound({size, 0});
    if (best == free_.end()) {
      const Count segment = small_ ? kSmallSegment : size < kOwnSegment ? kLargeSegment : round_up(size, kSegmentRounding);
      reserved_ += segment;
      blocks_[next_] = {segment, true, true};
      best = free_.insert({segment, next_}).first;
      next_ += 2 * segment;
    }
    const Count place = best->second;
    free_.erase(best);
    split(place, size);
    blocks_[place].free = false;
    handed_out_ += blocks_[place].size;
    return place;
  }

  void give_back(Count place) {
    auto block = blocks_.find(place);
    block->second.free = true;
    handed_out_ -= block->second.size;
    block = merged_before(block);
    const auto after = std::next(block);
    if (after != blocks_.end() && after->second.free && !after->second.first) {
      free_.erase({after->second.size, after->first});
      block->second.size += after->second.size;
      blocks_.erase(after);
    }
    free_.insert({block->second.size, block->first});
  }

  Count handed_out() const { return handed_out_; }
  Count reserved() const { return reserved_; }

 private:
  struct Block {
    Count size = 0;
    bool free = true;
    bool first = false;  // of its segment
  };
  using Blocks = std::map<Count, Block>;

  // What is left of a small block from 512 bytes on, and of a large one beyond 1 MiB, stays free.
  void split(Count place, Count size) {
    Block& block = blocks_[place];
    const Count left = block.size - size;
    if (small_ ? left < kRounding : left <= kSmall) return;
    block.size = size;
    blocks_[place + size] = {left, true, false};
    free_.insert({left, place + size});
  }
  Blocks::iterator merged_before(Blocks::iterator block) {
    if (block->second.first || block == blocks_.begin()) return block;
    const auto before = std::prev(block);
    if (!before->second.free) return block;
    free_.erase({before->second.size, before->first});
    before->second.size += block->second.size;
    blocks_.erase(block);
    return before;
  }

  bool small_;
  Blocks blocks_;
  std::set<std::pair<Count, Count>> free_;  // by size, then place
  Count handed_out_ = 0, reserved_ = 0, next_ = 0;
};

class CachingAllocator {
 public:
  struct Held {
    bool small = false;
    Count place = -1;  // -1: nothing
  };
  Held take(Count bytes) {
    if (bytes <= 0) return {};
    const Count size = round_up(bytes, kRounding);
    Held held{size <= kSmall, 0};
    held.place = pool(held.small).take(size);
    return held;
  }
  void give_back(const Held& held) {
    if (held.place >= 0) pool(held.small).give_back(held.place);
  }
  AllocatorState state() const {
    return {small_.handed_out() + large_.handed_out(), small_.reserved() + large_.reserved()};
  }

 private:
  Pool& pool(bool small) { return small ? small_ : large_; }
  Pool small_{true}, large_{false};
};

// Storages by the call that makes or ends them; the first entry is before all calls.
struct StorageEvents {
  std::vector<std::vector<int>> born, dies;
};
StorageEvents events_of(const ProgramFile& program, const LibraryMemory& libraries) {
  const std::size_t count = program.calls.size() + 1;
  StorageEvents events{std::vector<std::vector<int>>(count), std::vector<std::vector<int>>(count)};
  for (std::size_t i = 0; i < program.storages.size(); ++i) {
    const ProgramStorage& storage = program.storages[i];
    const int born = i < libraries.born.size() ? libraries.born[i] : storage.born;
    const int dies = i < libraries.dies.size() ? libraries.dies[i] : storage.dies;
    if (!storage.on_card) continue;
    events.born[static_cast<std::size_t>(born) + 1].push_back(static_cast<int>(i));
    if (dies >= 0) events.dies[static_cast<std::size_t>(dies) + 1].push_back(static_cast<int>(i));
  }
  return events;
}

}  // namespace

AllocatorTrace allocate(const ProgramFile& program, const LibraryMemory& libraries) {
  CachingAllocator allocator;
  std::vector<CachingAllocator::Held> held(program.storages.size());
  const auto [born, dies] = events_of(program, libraries);
  const auto make = [&](const std::vector<int>& list) {
    for (const int i : list) {
      const auto at = static_cast<std::size_t>(i);
      const Count more = at < libraries.of_storage.size() ? libraries.of_storage[at] : 0;
      held[at] = allocator.take(program.storages[at].bytes + more);
    }
  };
  AllocatorTrace trace;
  for (const Count workspace : libraries.throughout) allocator.take(workspace);
  make(born[0]);
  trace.over_calls.reserve(program.calls.size());
  for (std::size_t call = 0; call < program.calls.size(); ++call) {
    make(born[call + 1]);
    const auto meanwhile = allocator.take(call < libraries.of_call.size() ? libraries.of_call[call] : 0);
    const Count now = allocator.state().handed_out;
    allocator.give_back(meanwhile);
    trace.over_calls.push_back(now);
    if (now > trace.peak) trace.peak = now, trace.peak_call = call;
    for (const int i : dies[call + 1]) allocator.give_back(held[static_cast<std::size_t>(i)]);
  }
  trace.peak = std::max(trace.peak, allocator.state().handed_out);
  trace.resting = allocator.state().handed_out, trace.reserved = allocator.state().reserved;
  return trace;
}

}  // namespace tilecast
