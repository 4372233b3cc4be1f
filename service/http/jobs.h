// Long questions asked in the background: started, watched, cancelled, and kept for a while when they are done.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "answers/served.h"
#include "service/http/lanes.h"
#include "service/http/message.h"

namespace tilecast {

struct HttpJobSettings {
  int threads = 1;
  std::size_t most = 64;                        // of all kinds together
  std::size_t bytes = std::size_t{256} << 20;   // of their questions and answers
  std::chrono::milliseconds kept{10 * 60'000};  // after they are done
  std::chrono::milliseconds time{60 * 60'000};  // they may take
};

class HttpJobs {
 public:
  using Work = std::function<Result<std::string>(const AskWatch& watch)>;

  explicit HttpJobs(HttpJobSettings settings);
  HttpJobs(const HttpJobs&) = delete;
  HttpJobs& operator=(const HttpJobs&) = delete;
  // Cancels those that run.
  ~HttpJobs();

  // The new job's id; `bytes` is what it holds until it is done.
  Result<std::string> start(std::string what, std::size_t bytes, Work work);
  // {"job", "state", "progress", "answer" or "error"}; nothing where there is none of that id.
  Result<std::string> status(const std::string& id) const;
  Result<std::string> cancel(const std::string& id);
  Result<std::shared_ptr<HttpEvents>> events(const std::string& id) const;

  std::map<std::string, std::size_t> by_state() const;

 private:
  struct Job;
  class JobEvents;
  Result<std::shared_ptr<Job>> find(const std::string& id) const;
  void run(const std::shared_ptr<Job>& job, const Work& work) const;
  void forget_old();

  const HttpJobSettings settings_;
  mutable std::mutex lock_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;
  std::unique_ptr<HttpLane> lane_;  // last: its threads end before what they use goes
};

}  // namespace tilecast
