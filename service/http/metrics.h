// Counters of the service in Prometheus' text form (exposition format 0.0.4).
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "service/http/server.h"

namespace tilecast {

class HttpMetrics {
 public:
  void count(const HttpExchange& exchange, const std::string& route);
  std::string text(const HttpLoad& load, const std::map<std::string, std::size_t>& jobs) const;

 private:
  static constexpr std::array<double, 9> kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 1, 10, 60};
  struct Times {
    std::array<std::size_t, kSeconds.size()> within{};
    std::size_t all = 0;
    double seconds = 0;
  };
  mutable std::mutex lock_;
  std::map<std::pair<std::string, int>, std::size_t> requests_;  // by route and status
  std::map<std::string, Times> times_;                           // by route
  std::size_t received_ = 0, sent_ = 0;
};

}  // namespace tilecast
