// Threads that answer requests, apart from the one that reads and writes sockets: a few for quick questions, a few for
// long ones, so that a plan of minutes never stands before a forecast of microseconds.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tilecast {

class HttpLane {
 public:
  // Runs up to `threads` tasks at a time and lets `queue` more wait.
  HttpLane(int threads, std::size_t queue);
  HttpLane(const HttpLane&) = delete;
  HttpLane& operator=(const HttpLane&) = delete;
  // Finishes what it has.
  ~HttpLane();

  // False where too many wait already.
  bool add(std::function<void()> task);
  std::size_t waiting() const;
  std::size_t running() const;

 private:
  void serve();

  const std::size_t most_;
  mutable std::mutex lock_;
  std::condition_variable more_;
  std::deque<std::function<void()>> tasks_;
  std::size_t running_ = 0;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // last: joined before what they use goes
};

}  // namespace tilecast
