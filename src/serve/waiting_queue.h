// The requests that wait at a scheduler, the next one first: in the order they came, or by priority.
//
// Entering, leaving from anywhere and looking at the first take the logarithm of their number at most, so that a server
// that falls behind by hundreds of thousands of requests is simulated as fast as any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "tilecast/units.h"

namespace tilecast {

struct Sequence;

// Where a request stands: who is less goes first. Without priorities only the last member differs.
struct QueuePlace {
  std::int32_t priority = 0;
  Seconds entered;
  Count number = 0;
  friend bool operator<(const QueuePlace& a, const QueuePlace& b) {
    return std::tie(a.priority, a.entered, a.number) < std::tie(b.priority, b.entered, b.number);
  }
};

class WaitingQueue {
 public:
  using Items = std::map<QueuePlace, Sequence*>;

  // Each says where the request stands now, which leaving takes. A queue is filled either by place or at its ends.
  QueuePlace push_back(Sequence& s) { return insert(s, {0, {}, last_++}); }
  QueuePlace push_front(Sequence& s) { return insert(s, {0, {}, --first_}); }
  QueuePlace insert(Sequence& s, const QueuePlace& place) {
    items_.emplace(place, &s);
    return place;
  }
  void erase(const QueuePlace& place) { items_.erase(place); }

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  Sequence* front() const { return items_.begin()->second; }
  // In their order; an iterator outlives what happens to other requests.
  Items::const_iterator begin() const { return items_.begin(); }
  Items::const_iterator end() const { return items_.end(); }

 private:
  Items items_;
  Count first_ = 0, last_ = 0;  // numbers given out lie between
};

}  // namespace tilecast
