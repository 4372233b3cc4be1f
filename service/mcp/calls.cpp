#include "service/mcp/calls.h"

#include <algorithm>

namespace tilecast {
namespace {

constexpr std::size_t kMostWaiting = 1000;
constexpr double kLeastNews = 0.01;  // of the whole, between two messages about progress

}  // namespace

McpCalls::McpCalls(int threads, Ask ask, Send send) : ask_(std::move(ask)), send_(std::move(send)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& end) { serve(end); });
}

McpCalls::~McpCalls() = default;

void McpCalls::add(McpCall call) {
  std::unique_lock hold(lock_);
  if (jobs_.size() >= kMostWaiting) {
    hold.unlock();
    send_(McpProtocol::busy(call));
    return;
  }
  jobs_.push_back({std::move(call)});
  waiting_.push_back(&jobs_.back());
  more_.notify_one();
}

void McpCalls::cancel(const std::string& id) {
  const std::lock_guard hold(lock_);
  for (Job& job : jobs_)
    if (job.call.id == id) job.stop.request_stop();
}

void McpCalls::finish(std::chrono::seconds patience) {
  std::unique_lock hold(lock_);
  if (fewer_.wait_for(hold, patience, [this] { return jobs_.empty(); })) return;
  for (Job& job : jobs_) job.stop.request_stop();
  fewer_.wait(hold, [this] { return jobs_.empty(); });
}

void McpCalls::serve(const std::stop_token& end) {
  std::unique_lock hold(lock_);
  while (more_.wait(hold, end, [this] { return !waiting_.empty(); })) {
    Job* job = waiting_.front();
    waiting_.pop_front();
    hold.unlock();
    if (!job->stop.stop_requested()) answer(*job);
    hold.lock();
    jobs_.remove_if([job](const Job& one) { return &one == job; });
    fewer_.notify_all();
  }
}

void McpCalls::answer(Job& job) {
  double told = 0;
  const auto progress = [&](double share) {
    if (job.call.progress_token.empty() || job.stop.stop_requested() || share < told + kLeastNews) return;
    told = share;
    send_(McpProtocol::progress(job.call, share));
  };
  const auto answer = ask_(job.call, progress, job.stop.get_token());
  if (!job.stop.stop_requested()) send_(McpProtocol::answered(job.call, answer));
}

}  // namespace tilecast
