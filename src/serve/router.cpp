#include "serve/router.h"

#include <algorithm>

namespace tilecast {

ReplicaRouter::ReplicaRouter(Router kind, Count replicas, const PrefixRouting& prefixes, std::uint64_t seed)
    : kind_(kind), prefixes_(prefixes), members_(at(replicas)), open_(replicas), random_(seed) {}

Count ReplicaRouter::in_flight() const {
  Count sum = 0;
  for (const Member& m : members_) sum += m.load;
  return sum;
}

void ReplicaRouter::set_open(Count replica, bool open) {
  Member& m = members_[at(replica)];
  if (m.open == open) return;
  open_ += open ? 1 : -1;
  m.open = open;
  if (open) m.known.clear(), m.order.clear(), m.remembered = 0;
}

Count ReplicaRouter::next_in_turn() {
  const auto count = static_cast<Count>(members_.size());
  Count i = turn_++ % count;
  while (!members_[at(i)].open) i = turn_++ % count;
  return i;
}

Count ReplicaRouter::least_loaded(Count first) const {
  Count best = first;
  for (Count i = 0; i < static_cast<Count>(members_.size()); ++i)
    if (members_[at(i)].open && members_[at(i)].load < members_[at(best)].load) best = i;
  return best;
}

Count ReplicaRouter::of_two() {
  // Which of the open replicas, by their rank among them.
  const auto nth_open = [&](Count n) {
    for (Count i = 0;; ++i)
      if (members_[at(i)].open && n-- == 0) return i;
  };
  const auto a = static_cast<Count>(random_.below(static_cast<std::uint64_t>(open_)));
  auto b = static_cast<Count>(random_.below(static_cast<std::uint64_t>(open_ - 1)));
  if (b >= a) ++b;
  const Count first = nth_open(a), second = nth_open(b);
  return members_[at(first)].load <= members_[at(second)].load ? first : second;
}

bool ReplicaRouter::unbalanced() const {
  Count least = -1, most = 0;
  for (const Member& m : members_) {
    if (!m.open) continue;
    least = least < 0 ? m.load : std::min(least, m.load);
    most = std::max(most, m.load);
  }
  return most - least > prefixes_.apart && static_cast<double>(most) > prefixes_.ratio * static_cast<double>(least);
}

Count ReplicaRouter::by_prefix(Count input, std::span<const PathSegment> beginnings) {
  const Count turn = next_in_turn();
  if (unbalanced()) return least_loaded(turn);
  Count longest = turn, smallest = turn, matched = -1;
  for (Count i = 0; i < static_cast<Count>(members_.size()); ++i) {
    const Member& m = members_[at(i)];
    if (!m.open) continue;
    Count found = 0;
    for (const PathSegment& part : beginnings)
      if (const auto known = m.known.find(part.id); known != m.known.end())
        found = std::max(found, std::min(known->second.tokens, part.tokens));
    const Member& best = members_[at(longest)];
    if (found > matched || (found == matched && m.load < best.load)) matched = found, longest = i;
    if (m.remembered < members_[at(smallest)].remembered) smallest = i;
  }
  const bool enough = static_cast<double>(matched) > prefixes_.share * static_cast<double>(input);
  return enough ? longest : smallest;
}

void ReplicaRouter::remember(Member& m, Count input, std::span<const PathSegment> beginnings) {
  Count before = 0;
  for (const PathSegment& part : beginnings) {
    Sent& sent = m.known[part.id];
    const Count own = std::max(sent.own, part.tokens - before);
    m.remembered += own - sent.own;
    sent = {std::max(sent.tokens, part.tokens), own, ++stamp_};
    m.order.push_back({part.id, 0, sent.stamp});
    before = part.tokens;
  }
  m.order.push_back({kUnshared, input - before, ++stamp_});
  m.remembered += input - before;
  while (m.remembered > prefixes_.most_tokens && !m.order.empty()) forget(m);
}

void ReplicaRouter::forget(Member& m) {
  const Entry oldest = m.order.front();
  m.order.pop_front();
  if (oldest.part == kUnshared) {
    m.remembered -= oldest.tokens;
    return;
  }
  const auto known = m.known.find(oldest.part);
  if (known == m.known.end() || known->second.stamp != oldest.stamp) return;  // it was sent again since
  m.remembered -= known->second.own;
  m.known.erase(known);
}

Count ReplicaRouter::choose(Count input, std::span<const PathSegment> beginnings) {
  Count chosen = 0;
  if (kind_ == Router::power_of_two && open_ > 1) chosen = of_two();
  else if (kind_ == Router::prefix_aware) chosen = by_prefix(input, beginnings);
  else chosen = next_in_turn();
  if (kind_ == Router::least_loaded) chosen = least_loaded(chosen);
  Member& m = members_[at(chosen)];
  if (kind_ == Router::prefix_aware) remember(m, input, beginnings);
  ++m.load;
  return chosen;
}

}  // namespace tilecast
