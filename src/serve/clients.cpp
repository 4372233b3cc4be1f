#include "serve/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilecast {

void Clients::send_next(Seconds earliest) {
  while (next_ < static_cast<Count>(requests_.size()) && (o_.concurrency == 0 || in_flight_ < o_.concurrency)) {
    const Count i = next_++;
    const Request& r = requests_[static_cast<std::size_t>(i)];
    if (r.after >= 0) continue;  // sent when another has ended
    const Seconds sent = o_.concurrency == 0 ? r.arrival : std::max(r.arrival, earliest);
    if (sends_in_time()) events_.at(sent, EventKind::send, i);
    else if (!send(i, sent)) {
      end(i);
      continue;
    }
    ++in_flight_;
    // Only one future arrival needs to be known at a time where nothing limits the requests in flight.
    if (o_.concurrency == 0) return;
  }
}

// False where the server refuses it.
bool Clients::send(Count i, Seconds sent) {
  const Request& r = requests_[static_cast<std::size_t>(i)];
  RequestRecord& record = out_.requests[static_cast<std::size_t>(i)];
  record.input = r.input, record.output = r.output, record.group = r.group;
  record.sent = sent;
  if (!std::exchange(begun_, true)) out_.begin = record.sent;
  if (refuse(r, i)) {
    record.refused = true;
    return false;
  }
  const HostTimes& host = o_.front().host;
  const Seconds work = host.per_request + host.per_prompt_token * static_cast<double>(r.input);
  const double fronts = o_.front_ends();
  const Seconds begins = std::max(front_free_at_, record.sent);
  front_free_at_ = begins + work / fronts;
  const double others = static_cast<double>(streaming_) / fronts;
  events_.at(begins + work + host.receive + host.per_streaming * others, EventKind::arrival, i);
  // A token in time is one that is with the client by then.
  const auto due = [&](Seconds time) { return std::max(sent, sent + time - host.reply); };
  if (o_.first_token_timeout) events_.at(due(*o_.first_token_timeout), EventKind::first_due, i);
  if (o_.total_timeout) events_.at(due(*o_.total_timeout), EventKind::all_due, i);
  return true;
}

void Clients::send_turn(Count i) {
  if (!send(i, events_.now())) over(i, events_.now(), false);
  if (o_.concurrency == 0 && requests_[static_cast<std::size_t>(i)].after < 0) send_next();
}

// A request has been answered, or never will be.
void Clients::over(Count i, Seconds when, bool answered) {
  end(i);
  if (out_.requests[static_cast<std::size_t>(i)].given > 0) --streaming_;
  if (turns_.any()) {
    turns_.each_after(i, [&](Count next) {
      const Request& r = requests_[static_cast<std::size_t>(next)];
      if (answered) events_.at(std::max(when + r.pause, r.arrival), EventKind::send, next);
      else drop(next);
    });
    if (!turns_.close(i)) return;
  }
  --in_flight_;
  if (o_.concurrency > 0) send_next(when);
}

// Turns whose conversation broke off.
void Clients::drop(Count first) {
  std::vector<Count> left{first};
  while (!left.empty()) {
    const Count i = left.back();
    left.pop_back();
    RequestRecord& record = out_.requests[static_cast<std::size_t>(i)];
    const Request& r = requests_[static_cast<std::size_t>(i)];
    record.input = r.input, record.output = r.output, record.group = r.group;
    record.unsent = true;
    end(i);
    turns_.each_after(i, [&](Count next) { left.push_back(next); });
    turns_.close(i);
  }
}

// A server answers with an error at once.
bool Clients::refuse(const Request& r, Count i) {
  const Count whole = r.input + r.longest(), draft = o_.pool.limits.speculation.draft;
  std::string why;
  const PoolOptions& f = o_.front();
  if (o_.context_limit > 0 && whole > o_.context_limit) why = fmt::format("the context limit is {}", o_.context_limit);
  else if (o_.pool.geometry.blocks_for(whole + draft) > o_.pool.blocks || f.geometry.blocks_for(r.input + 1) > f.blocks)
    why = fmt::format("the cache holds {}", std::min(o_.pool.blocks, f.blocks) * o_.pool.geometry.block_tokens);
  else if (!f.limits.chunked_prefill && r.input > f.limits.max_tokens && f.limits.policy != Policy::sglang)
    why = fmt::format("a step computes {} and prompts are not cut", f.limits.max_tokens);
  else return false;
  ++out_.refusals;
  if (out_.refused.size() < 5)
    out_.refused.push_back(fmt::format("request {}: {} + {} tokens, {}", i, r.input, r.longest(), why));
  return true;
}

bool Clients::loses_patience(Count i, bool with_all) {
  RequestRecord& record = out_.requests[static_cast<std::size_t>(i)];
  if (record.cancelled || record.given == record.output || (!with_all && record.given > 0)) return false;
  record.cancelled = true;
  record.last = events_.now() + o_.front().host.reply;
  ++out_.cancellations;
  return true;
}

}  // namespace tilecast
