#include "service/http/access_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "support/json_value.h"

namespace tilecast {
namespace {

constexpr auto kPause = std::chrono::milliseconds(50);  // lines of so long are written together
constexpr std::size_t kMostPath = 200, kMostMethod = 16, kMostReason = 200;

std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), rest);
}

}  // namespace

std::string access_line(const HttpExchange& e, const std::string& time) {
  // Paths come from outside: what is not UTF-8 is replaced, control characters are escaped.
  Json line{{"time", time},
            {"peer", e.peer},
            {"method", e.method.substr(0, kMostMethod)},
            {"path", e.path.substr(0, kMostPath)},
            {"status", e.status},
            {"received", e.received},
            {"sent", e.sent},
            {"ms", std::round(e.seconds * 1e6) / 1e3}};
  if (!e.reason.empty()) line["reason"] = e.reason.substr(0, kMostReason);
  return line.dump() + "\n";
}

AccessLog::AccessLog(std::function<void(const std::string&)> write)
    : write_(std::move(write)), thread_([this] { write_lines(); }) {}

AccessLog::~AccessLog() {
  {
    const std::lock_guard guard(lock_);
    stopped_ = true;
  }
  more_.notify_all();
}

void AccessLog::add(const HttpExchange& exchange) {
  const std::string line = access_line(exchange, time_now());
  const std::lock_guard guard(lock_);
  if (pending_.size() + line.size() > kMostPending) ++left_out_;
  else pending_ += line;
}

void AccessLog::write_lines() {
  std::unique_lock guard(lock_);
  while (true) {
    more_.wait_for(guard, kPause, [this] { return stopped_; });
    std::string lines = std::exchange(pending_, {});
    if (const std::size_t missing = std::exchange(left_out_, 0)) lines += fmt::format("{{\"left_out\":{}}}\n", missing);
    const bool last = stopped_;
    guard.unlock();
    if (!lines.empty()) write_(lines);
    if (last) return;
    guard.lock();
  }
}

}  // namespace tilecast
