#include "service/http/jobs.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <stop_token>

#include "support/json_value.h"
#include "tilecast/watch.h"

namespace tilecast {
namespace {

using Clock = std::chrono::steady_clock;

enum class JobState { queued, running, done, failed, cancelled };
constexpr std::array<std::string_view, 5> kJobStates = {"queued", "running", "done", "failed", "cancelled"};
bool is_over(JobState state) { return state >= JobState::done; }

// Nobody finds another's job by counting.
Result<std::string> random_id() {
  std::array<std::uint64_t, 2> bits{};
  if (getrandom(bits.data(), sizeof bits, 0) != sizeof bits) return error("no random numbers are to be had");
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

}  // namespace

struct HttpJobs::Job {
  std::string id, what;
  std::size_t asked_bytes = 0;
  std::stop_source cancelled;
  std::atomic<double> share{0};

  mutable std::mutex lock;  // of what follows
  JobState state = JobState::queued;
  std::string answer;  // a document
  Error problem;
  Clock::time_point ended;

  std::size_t bytes() const {
    const std::lock_guard guard(lock);
    return asked_bytes + answer.size();
  }
  JobState state_now() const {
    const std::lock_guard guard(lock);
    return state;
  }
  void end(JobState with, Result<std::string> outcome) {
    const std::lock_guard guard(lock);
    state = with;
    if (outcome) answer = *std::move(outcome);
    else problem = std::move(outcome).error();
    ended = Clock::now();
    asked_bytes = 0;
  }
  std::string text() const {
    const std::lock_guard guard(lock);
    const double done = state == JobState::done ? 100 : std::round(1000 * share.load()) / 10;
    const Json head{{"job", id},
                    {"state", kJobStates[static_cast<std::size_t>(state)]},
                    {"progress", {{"done", done}, {"of", 100}, {"what", what}}}};
    std::string line = head.dump();
    line.pop_back();  // the brace
    if (state == JobState::done) line += ",\"answer\":" + answer;
    if (state == JobState::failed || state == JobState::cancelled) {
      const std::string wrapped = error_json(problem);  // {"error":{...}}
      line += "," + wrapped.substr(1, wrapped.rfind('}') - 1);
    }
    return line + "}";
  }
};

// A job as server-sent events (the HTML standard, section 9.2): "event: progress" until it is over.
class HttpJobs::JobEvents final : public HttpEvents {
 public:
  explicit JobEvents(std::shared_ptr<const Job> job) : job_(std::move(job)) {}

  std::string take() override {
    const JobState state = job_->state_now();
    const double share = job_->share;
    if (is_over(state)) {
      finished_ = true;
      return event(kJobStates[static_cast<std::size_t>(state)]);
    }
    if (begun_ && state == state_ && std::abs(share - share_) < 0.001) return {};
    begun_ = true, state_ = state, share_ = share;
    return event("progress");
  }
  bool finished() const override { return finished_; }

 private:
  std::string event(std::string_view name) const {
    // A line end inside of data would end it: a document has many, each line is a field of its own.
    std::string text = fmt::format("event: {}\ndata: ", name);
    for (const char c : job_->text()) {
      text += c;
      if (c == '\n') text += "data: ";
    }
    return text + "\n\n";
  }
  std::shared_ptr<const Job> job_;
  JobState state_ = JobState::queued;
  double share_ = 0;
  bool begun_ = false, finished_ = false;
};

HttpJobs::HttpJobs(HttpJobSettings settings)
    : settings_(settings), lane_(std::make_unique<HttpLane>(settings.threads, settings.most)) {}

HttpJobs::~HttpJobs() {
  {
    const std::lock_guard guard(lock_);
    for (const auto& [id, job] : jobs_) job->cancelled.request_stop();
  }
  lane_.reset();
}

void HttpJobs::forget_old() {
  const auto now = Clock::now();
  std::erase_if(jobs_, [&](const auto& entry) {
    const std::lock_guard guard(entry.second->lock);
    return is_over(entry.second->state) && now - entry.second->ended > settings_.kept;
  });
}

Result<std::string> HttpJobs::start(std::string what, std::size_t bytes, Work work) {
  auto id = random_id();
  if (!id) return id;
  auto job = std::make_shared<Job>();
  job->id = *id, job->what = std::move(what), job->asked_bytes = bytes;
  const std::lock_guard guard(lock_);
  forget_old();
  std::size_t held = bytes;
  for (const auto& [other, kept] : jobs_) held += kept->bytes();
  if (jobs_.size() >= settings_.most || held > settings_.bytes)
    return error("too many jobs are kept", "cancel one (DELETE), or try again in some minutes");
  if (!lane_->add([this, job, work = std::move(work)] { run(job, work); }))
    return error("too many jobs wait already", "try again later");
  jobs_.emplace(*id, std::move(job));
  return id;
}

void HttpJobs::run(const std::shared_ptr<Job>& job, const Work& work) const {
  if (job->cancelled.stop_requested()) return job->end(JobState::cancelled, stopped());
  {
    const std::lock_guard guard(job->lock);
    job->state = JobState::running;
  }
  std::stop_source late;
  const std::stop_callback pass_on(job->cancelled.get_token(), [&late] { late.request_stop(); });
  const auto must_end = Clock::now() + settings_.time;
  const AskWatch watch{[&](double share) {
                         job->share = share;
                         if (Clock::now() > must_end) late.request_stop();
                       },
                       late.get_token()};
  Result<std::string> answer = error("a fault in Tilecast", "report the question");
  try {
    answer = work(watch);
  } catch (const std::bad_alloc&) {
    answer = error("memory ran out", "ask for less");
  } catch (const std::exception&) {
  }
  if (answer) return job->end(JobState::done, std::move(answer));
  if (job->cancelled.stop_requested()) return job->end(JobState::cancelled, stopped());
  if (is_stopped(answer.error())) answer = error("took too long", "ask for less");
  job->end(JobState::failed, std::move(answer));
}

Result<std::shared_ptr<HttpJobs::Job>> HttpJobs::find(const std::string& id) const {
  const std::lock_guard guard(lock_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return error("there is no such job", "it may be done and forgotten: ask again");
  return found->second;
}

Result<std::string> HttpJobs::status(const std::string& id) const {
  const auto job = find(id);
  return job ? Result<std::string>((*job)->text() + "\n") : Result<std::string>(job.error());
}

Result<std::string> HttpJobs::cancel(const std::string& id) {
  const auto job = find(id);
  if (!job) return job.error();
  (*job)->cancelled.request_stop();
  {
    // One that waits need not wait for its turn to hear of it.
    const std::lock_guard guard((*job)->lock);
    if ((*job)->state == JobState::queued)
      (*job)->state = JobState::cancelled, (*job)->problem = stopped(), (*job)->ended = Clock::now();
  }
  return (*job)->text() + "\n";
}

Result<std::shared_ptr<HttpEvents>> HttpJobs::events(const std::string& id) const {
  const auto job = find(id);
  if (!job) return job.error();
  return std::shared_ptr<HttpEvents>(std::make_shared<JobEvents>(*job));
}

std::map<std::string, std::size_t> HttpJobs::by_state() const {
  std::map<std::string, std::size_t> counts;
  for (const std::string_view name : kJobStates) counts[std::string(name)] = 0;
  const std::lock_guard guard(lock_);
  for (const auto& [id, job] : jobs_) ++counts[std::string(kJobStates[static_cast<std::size_t>(job->state_now())])];
  return counts;
}

}  // namespace tilecast
