// A JSON line per request. Lines are handed to a thread of their own, so that whoever reads them slowly delays nobody;
// lines that would have to wait too long are left out, and their number is told.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "service/http/server.h"

namespace tilecast {

std::string access_line(const HttpExchange& exchange, const std::string& time);

class AccessLog {
 public:
  // `write` gets whole lines, on a thread of its own.
  explicit AccessLog(std::function<void(const std::string&)> write);
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;
  ~AccessLog();
  void add(const HttpExchange& exchange);

 private:
  static constexpr std::size_t kMostPending = 1 << 20;
  void write_lines();

  std::function<void(const std::string&)> write_;
  std::mutex lock_;
  std::condition_variable more_;
  std::string pending_;
  std::size_t left_out_ = 0;
  bool stopped_ = false;
  std::jthread thread_;  // last: joined before what it uses goes
};

}  // namespace tilecast
