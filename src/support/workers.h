// A few threads that share out numbered pieces of work, again and again, without being started anew.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace tilecast {

class Workers {
 public:
  explicit Workers(int threads) {
    for (int i = 1; i < threads; ++i) pool_.emplace_back([this] { serve(); });
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    stop_ = true;
    ++round_;
    round_.notify_all();
  }
  int threads() const { return static_cast<int>(pool_.size()) + 1; }

  // Calls work(0) ... work(pieces - 1), each once, on any thread; returns when all are done.
  void each(std::size_t pieces, const std::function<void(std::size_t)>& work) {
    if (pool_.empty() || pieces < 2) {
      for (std::size_t i = 0; i < pieces; ++i) work(i);
      return;
    }
    work_ = &work;
    pieces_ = pieces;
    next_ = 0;
    busy_ = pool_.size();
    ++round_;
    round_.notify_all();
    take();
    for (std::size_t left = busy_; left > 0; left = busy_) busy_.wait(left);
  }

 private:
  void take() {
    for (std::size_t i = next_++; i < pieces_; i = next_++) (*work_)(i);
  }
  void serve() {
    for (unsigned seen = 0;;) {
      round_.wait(seen);
      seen = round_;
      if (stop_) return;
      take();
      if (--busy_ == 0) busy_.notify_all();
    }
  }

  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t pieces_ = 0;
  std::atomic<std::size_t> next_{0}, busy_{0};
  std::atomic<unsigned> round_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::jthread> pool_;  // last: joined before what they use goes
};

}  // namespace tilecast
