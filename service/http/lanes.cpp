#include "service/http/lanes.h"

#include <system_error>
#include <utility>

namespace tilecast {

HttpLane::HttpLane(int threads, std::size_t queue) : most_(queue) {
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;  // a system may allow fewer, but none is too few
  }
}

HttpLane::~HttpLane() {
  {
    const std::lock_guard guard(lock_);
    stopped_ = true;
  }
  more_.notify_all();
}

bool HttpLane::add(std::function<void()> task) {
  {
    const std::lock_guard guard(lock_);
    if (stopped_ || tasks_.size() >= most_) return false;
    tasks_.push_back(std::move(task));
  }
  more_.notify_one();
  return true;
}

std::size_t HttpLane::waiting() const {
  const std::lock_guard guard(lock_);
  return tasks_.size();
}

std::size_t HttpLane::running() const {
  const std::lock_guard guard(lock_);
  return running_;
}

void HttpLane::serve() {
  std::unique_lock guard(lock_);
  while (true) {
    more_.wait(guard, [this] { return stopped_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    ++running_;
    guard.unlock();
    task();
    task = {};
    guard.lock();
    --running_;
  }
}

}  // namespace tilecast
