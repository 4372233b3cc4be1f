// A few threads that share numbered pieces of work, again and again, without being restarted.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tilecast {

class Workers {
 public:
  // As many as can be started; a system may allow fewer.
  explicit Workers(int threads) {
    try {
      for (int i = 1; i < threads; ++i) pool_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    stop_ = true;
    ++round_;
    round_.notify_all();
  }
  int threads() const { return static_cast<int>(pool_.size()) + 1; }

  // Calls work(0) ... work(pieces - 1), each once, on any thread; returns when all are done. If one of them throws
  // (memory can run out anywhere), the rest are abandoned and the first exception is rethrown here.
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
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void take() {
    try {
      for (std::size_t i = next_++; i < pieces_; i = next_++) (*work_)(i);
    } catch (...) {
      next_ = pieces_;
      const std::lock_guard guard(failing_);
      if (!failure_) failure_ = std::current_exception();
    }
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
  std::mutex failing_;
  std::exception_ptr failure_;
  std::vector<std::jthread> pool_;  // last: joined before what they use goes
};

// How a loop is cut: threads take `batch` items at a time.
struct Loop {
  std::size_t count = 0, batch = 1;
};
// Options for long loops.
struct LoopWatch {
  std::function<void(double share)> progress = {};  // called on the calling thread, shares ascend
  std::stop_token cancel = {};                      // batches that have not begun are left out
};

// Calls item(0) ... item(count - 1), each once, on any thread. False if it was cancelled before the last.
template <class Item>
bool parallel_for(Workers& workers, Loop loop, const Item& item, const LoopWatch& watch = {}) {
  const std::size_t batches = (loop.count + loop.batch - 1) / loop.batch;
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<std::size_t> done{0};
  std::atomic<bool> whole{true};
  workers.each(batches, [&](std::size_t batch) {
    if (watch.cancel.stop_requested()) {
      whole = false;
      return;
    }
    const std::size_t end = std::min((batch + 1) * loop.batch, loop.count);
    for (std::size_t i = batch * loop.batch; i < end; ++i) item(i);
    const std::size_t so_far = ++done;
    if (watch.progress && std::this_thread::get_id() == caller)
      watch.progress(static_cast<double>(so_far) / static_cast<double>(batches));
  });
  return whole;
}

}  // namespace tilecast
