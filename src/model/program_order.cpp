#include "model/program_order.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace tilecast {
namespace {

class Planner {
 public:
  explicit Planner(const PlannedGraph& graph)
      : graph_(graph),
        count_(graph.before.size()),
        after_(count_),
        made_(count_),
        read_(count_),
        size_(count_, 0),
        size_read_(count_, 0) {
    for (std::size_t k = 0; k < count_; ++k)
      for (const int b : graph.before[k]) after_[at(b)].push_back(static_cast<int>(k));
    for (std::size_t b = 0; b < graph.buffers.size(); ++b) {
      const PlannedBuffer& buffer = graph.buffers[b];
      if (buffer.maker >= 0)
        made_[at(buffer.maker)].push_back(static_cast<int>(b)), size_[at(buffer.maker)] += buffer.bytes;
      for (const int k : buffer.readers) read_[at(k)].push_back(static_cast<int>(b)), size_read_[at(k)] += buffer.bytes;
    }
    for (std::size_t k = 0; k < count_; ++k) size_read_[k] += size_[k];
  }

  KernelOrder best() const {
    KernelOrder least = expected(as_they_come());
    if (count_ > kMostPlannedKernels) return least;
    for (const auto& order : {least_peak_first(), first_in_first_out(), small_ones_first()})
      if (order.size() == count_)  // less where kernels wait for each other
        if (KernelOrder other = expected(order); other.peak < least.peak) least = std::move(other);
    return least;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  KernelOrder expected(std::vector<int> order) const {
    std::vector<int> step(count_, 0);
    for (std::size_t i = 0; i < order.size(); ++i) step[at(order[i])] = static_cast<int>(i);
    KernelOrder made{std::move(order), std::vector<Count>(count_ + 1, 0), 0};
    for (const PlannedBuffer& buffer : graph_.buffers) {
      const int start = buffer.maker < 0 ? 0 : step[at(buffer.maker)];
      int end = start;
      for (const int k : buffer.readers) end = std::max(end, step[at(k)]);
      made.memory[at(start)] += buffer.bytes;
      made.memory[buffer.leaves ? 0 : at(end) + 1] -= buffer.bytes;
    }
    std::partial_sum(made.memory.begin(), made.memory.end(), made.memory.begin());
    made.peak = std::max<Count>(0, *std::max_element(made.memory.begin(), made.memory.end()));
    return made;
  }

  // Each in turn, what it waits for before it.
  template <typename Less>
  std::vector<int> depth_first(const Less& less) const {
    std::vector<int> turns(count_), order;
    std::iota(turns.begin(), turns.end(), 0);
    std::stable_sort(turns.begin(), turns.end(), less);
    std::vector<bool> seen(count_, false);
    struct Visit {
      int kernel;
      std::vector<int> first;
      std::size_t next = 0;
    };
    std::vector<Visit> open;
    const auto enter = [&](int kernel) {
      if (seen[at(kernel)]) return;
      seen[at(kernel)] = true;
      open.push_back({kernel, graph_.before[at(kernel)]});
      std::stable_sort(open.back().first.begin(), open.back().first.end(), less);
    };
    for (const int turn : turns) {
      enter(turn);
      while (!open.empty()) {
        if (Visit& top = open.back(); top.next < top.first.size()) {
          enter(top.first[top.next++]);
        } else {
          order.push_back(top.kernel);
          open.pop_back();
        }
      }
    }
    return order;
  }
  std::vector<int> as_they_come() const { return depth_first(std::less<int>()); }
  std::vector<int> small_ones_first() const {
    return depth_first([&](int a, int b) { return std::pair(size_read_[at(a)], a) < std::pair(size_read_[at(b)], b); });
  }

  // What waits for the earliest ones.
  std::vector<int> first_in_first_out() const {
    using Waiting = std::pair<std::vector<int>, int>;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> ready;
    std::vector<int> step(count_, -1), left = waits();
    const auto add = [&](int kernel) {
      std::vector<int> steps;
      for (const int b : graph_.before[at(kernel)]) steps.push_back(step[at(b)]);
      std::sort(steps.begin(), steps.end());
      ready.emplace(std::move(steps), kernel);
    };
    for (std::size_t k = 0; k < count_; ++k)
      if (left[k] == 0) add(static_cast<int>(k));
    std::vector<int> order;
    while (!ready.empty()) {
      const int kernel = ready.top().second;
      ready.pop();
      step[at(kernel)] = static_cast<int>(order.size());
      order.push_back(kernel);
      for (const int next : after_[at(kernel)])
        if (--left[at(next)] == 0) add(next);
    }
    return order;
  }
  std::vector<int> waits() const {
    std::vector<int> left;
    left.reserve(count_);
    for (const auto& before : graph_.before) left.push_back(static_cast<int>(before.size()));
    return left;
  }

  // Of what is ready, the kernel that leaves the least behind, of those that need no more than was needed before, else
  // the smallest.
  std::vector<int> least_peak_first() const {
    std::vector<int> left = waits(), users;
    std::vector<Count> freed(count_, 0);
    Count live = 0, leaving = 0;
    for (const PlannedBuffer& buffer : graph_.buffers) {
      users.push_back(static_cast<int>(buffer.readers.size()) + (buffer.leaves ? 1 : 0));
      if (buffer.maker < 0) live += buffer.bytes;
      if (buffer.leaves) leaving += buffer.bytes;
    }
    for (std::size_t k = 0; k < count_; ++k) {
      for (const int b : read_[k])
        if (users[at(b)] == 1) freed[k] += graph_.buffers[at(b)].bytes;
      for (const int b : made_[k])
        if (users[at(b)] == 0) freed[k] += graph_.buffers[at(b)].bytes;
    }
    Count most = std::max(live, leaving);
    std::set<int> ready;
    for (std::size_t k = 0; k < count_; ++k)
      if (left[k] == 0) ready.insert(static_cast<int>(k));
    std::vector<int> order;
    while (!ready.empty()) {
      const Count gap = most - live;
      const auto cost = [&](int k) {
        return std::tuple(size_[at(k)] > gap ? size_[at(k)] : 0, size_[at(k)] - freed[at(k)], k);
      };
      const int kernel = *std::min_element(ready.begin(), ready.end(), [&](int a, int b) { return cost(a) < cost(b); });
      ready.erase(kernel);
      order.push_back(kernel);
      live += size_[at(kernel)];
      most = std::max(most, live);
      live -= freed[at(kernel)];
      for (const int next : after_[at(kernel)])
        if (--left[at(next)] == 0) ready.insert(next);
      for (const int b : read_[at(kernel)])
        if (--users[at(b)] == 1)
          for (const int k : graph_.buffers[at(b)].readers) freed[at(k)] += graph_.buffers[at(b)].bytes;
    }
    return order;
  }

  const PlannedGraph& graph_;
  std::size_t count_;
  std::vector<std::vector<int>> after_, made_, read_;  // by kernel: kernels, buffers
  std::vector<Count> size_, size_read_;                // by kernel: bytes that it makes, and with those that it reads
};

}  // namespace

KernelOrder order_for_least_memory(const PlannedGraph& graph) { return Planner(graph).best(); }

}  // namespace tilecast
