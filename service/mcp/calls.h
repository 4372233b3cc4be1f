// Calls of tools, answered by a few threads, so that a plan of minutes does not keep a cancellation or a quick question
// waiting.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "service/mcp/protocol.h"

namespace tilecast {

class McpCalls {
 public:
  using Send = std::function<void(const std::string& message)>;  // from any thread
  using Ask = std::function<Result<std::string>(const McpCall& call, const std::function<void(double)>& progress,
                                                std::stop_token cancel)>;

  McpCalls(int threads, Ask ask, Send send);
  McpCalls(const McpCalls&) = delete;
  McpCalls& operator=(const McpCalls&) = delete;
  ~McpCalls();

  void add(McpCall call);
  // Nothing is sent about it any more.
  void cancel(const std::string& id);
  // Waits for what is under way; what takes longer than this is cancelled.
  void finish(std::chrono::seconds patience);

 private:
  struct Job {
    McpCall call;
    std::stop_source stop = {};
  };
  void serve(const std::stop_token& end);
  void answer(Job& job);

  Ask ask_;
  Send send_;
  std::mutex lock_;
  std::condition_variable_any more_, fewer_;
  std::deque<Job*> waiting_;
  std::list<Job> jobs_;                // waiting and running
  std::vector<std::jthread> threads_;  // last: joined before what they use goes
};

}  // namespace tilecast
