#include "serve/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "serve/replica.h"
#include "serve/run_log.h"
#include "serve/turns.h"

namespace tilecast {
namespace {

// At one time, in this order: a replica that was idle starts with all that came at once.
enum class EventKind : std::uint8_t { step_end, send, arrival, transferred, first_due, all_due, wake, ready, look };
struct Event {
  Seconds time;
  EventKind kind = EventKind::arrival;
  Count order = 0;    // events alike happen in the order they were made
  Count subject = 0;  // a replica, or a request
};
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return std::tie(a.time, a.kind, a.order) > std::tie(b.time, b.kind, b.order);
  }
};

class Simulation {
 public:
  Simulation(const std::vector<Request>& requests, const SimulationOptions& options,
             const std::function<void(double)>& progress)
      : o_(options),
        requests_(requests),
        followers_(requests),
        progress_(progress),
        decoding_(most_replicas(options)),
        router_(of_answers(options), decoding_, options.prefixes),
        prompts_router_(options.router, options.prefill ? options.prefill->replicas : 1, options.prefixes) {
    for (Count i = 0; i < decoding_; ++i) add_replica(o_.pool);
    if (o_.prefill)
      for (Count i = 0; i < o_.prefill->replicas; ++i) add_replica(*o_.prefill);
    sequences_.resize(requests.size());
    if (o_.prefill) prompts_.resize(requests.size());
    out_.requests.resize(requests.size());
    out_.replicas = static_cast<Count>(replicas_.size());
    if (o_.prefill) out_.gpus = static_cast<double>(o_.prefill->replicas * o_.prefill->gpus);
    out_.gpus += static_cast<double>(o_.pool.replicas * o_.pool.gpus);
    out_.idle = at_rest(o_.pool);
    if (o_.prefill && out_.idle) {
      const auto other = at_rest(*o_.prefill);
      out_.idle = other ? std::optional(*out_.idle + *other) : std::nullopt;
    }
  }
  // Requests whose prompts are computed elsewhere bring their keys along.
  static Router of_answers(const SimulationOptions& o) {
    return o.prefill && o.router == Router::prefix_aware ? Router::least_loaded : o.router;
  }
  // Schedulers of the pool that decodes, with all that an autoscaler may start.
  static Count most_replicas(const SimulationOptions& o) {
    return o.autoscale ? o.autoscale->most * o.pool.in_step : o.pool.replicas;
  }

  ServingOutcome run() {
    start_fleet();
    send_next();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      switch (event.kind) {
        case EventKind::arrival: arrive(event.subject); break;
        case EventKind::step_end: end_step(*replicas_[static_cast<std::size_t>(event.subject)]); break;
        case EventKind::transferred: receive(event.subject); break;
        case EventKind::send: send_turn(event.subject); break;
        case EventKind::first_due:
        case EventKind::all_due: give_up(event.subject, event.kind == EventKind::all_due); break;
        case EventKind::wake: start_step(*replicas_[static_cast<std::size_t>(event.subject)]); break;
        case EventKind::ready: replica_ready(event.subject); break;
        case EventKind::look: look_at_fleet(); break;
      }
    }
    if (fleet_) std::move(*fleet_).finish(out_, o_.pool.in_step * o_.pool.gpus, o_.pool.idle);
    for (const auto& replica : replicas_) out_.blocks_left += replica->cache.held();
    out_.unfinished = static_cast<Count>(requests_.size()) - ended_;
    return std::move(out_);
  }

 private:
  void add_replica(const PoolOptions& o) {
    replicas_.push_back(std::make_unique<ServingReplica>(o, static_cast<std::int32_t>(replicas_.size())));
  }
  static std::optional<Watts> at_rest(const PoolOptions& o) {
    if (!o.idle) return std::nullopt;
    return *o.idle * static_cast<double>(o.replicas * o.gpus);
  }
  void at(Seconds time, EventKind kind, Count subject) { events_.push({time, kind, order_++, subject}); }

  // Requests leave the client in order, when they arrive and when a place is free.
  void send_next() { send_next(now_); }
  void send_next(Seconds earliest) {
    while (next_ < static_cast<Count>(requests_.size()) && (o_.concurrency == 0 || in_flight_ < o_.concurrency)) {
      const Count i = next_++;
      const Request& r = requests_[static_cast<std::size_t>(i)];
      if (r.after >= 0) continue;  // sent when another has ended
      const Seconds sent = o_.concurrency == 0 ? r.arrival : std::max(r.arrival, earliest);
      // Others may be sent before it where there are conversations: its turn at the front end comes when it is sent.
      if (followers_.any()) at(sent, EventKind::send, i);
      else if (!send(i, sent)) {
        ++ended_;
        continue;
      }
      ++in_flight_;
      // Only one future arrival needs to be known at a time where nothing limits the requests in flight.
      if (o_.concurrency == 0) return;
    }
  }
  // False where the server refuses it.
  bool send(Count i, Seconds sent) {
    const Request& r = requests_[static_cast<std::size_t>(i)];
    RequestRecord& record = out_.requests[static_cast<std::size_t>(i)];
    record.input = r.input, record.output = r.output, record.group = r.group;
    record.sent = sent;
    if (!std::exchange(begun_, true)) out_.begin = record.sent;
    if (refuse(r, i)) {
      record.refused = true;
      return false;
    }
    const HostTimes& host = front().host;
    const Seconds work = host.per_request + host.per_prompt_token * static_cast<double>(r.input);
    front_free_at_ = std::max(front_free_at_, record.sent) + work;
    at(front_free_at_ + host.receive, EventKind::arrival, i);
    // A token in time is one that is with the client by then.
    const auto due = [&](Seconds time) { return std::max(sent, sent + time - host.reply); };
    if (o_.first_token_timeout) at(due(*o_.first_token_timeout), EventKind::first_due, i);
    if (o_.total_timeout) at(due(*o_.total_timeout), EventKind::all_due, i);
    return true;
  }
  void send_turn(Count i) {
    if (!send(i, now_)) over(i, now_, false);
    if (o_.concurrency == 0 && requests_[static_cast<std::size_t>(i)].after < 0) send_next();
  }
  // A request has been answered, or never will be.
  void over(Count i, Seconds when, bool answered) {
    ++ended_;
    if (followers_.any()) {
      followers_.each_after(i, [&](Count next) {
        const Request& r = requests_[static_cast<std::size_t>(next)];
        if (answered) at(std::max(when + r.pause, r.arrival), EventKind::send, next);
        else drop(next);
      });
      if (!followers_.close(i)) return;
    }
    --in_flight_;
    if (o_.concurrency > 0) send_next(when);
  }
  // Turns whose conversation broke off.
  void drop(Count first) {
    std::vector<Count> left{first};
    while (!left.empty()) {
      const Count i = left.back();
      left.pop_back();
      RequestRecord& record = out_.requests[static_cast<std::size_t>(i)];
      const Request& r = requests_[static_cast<std::size_t>(i)];
      record.input = r.input, record.output = r.output, record.group = r.group;
      record.unsent = true;
      ++ended_;
      followers_.each_after(i, [&](Count next) { left.push_back(next); });
      followers_.close(i);
    }
  }
  // The client's patience ends.
  void give_up(Count i, bool with_all) {
    RequestRecord& record = out_.requests[static_cast<std::size_t>(i)];
    if (record.cancelled || record.given == record.output || (!with_all && record.given > 0)) return;
    record.cancelled = true;
    record.last = now_ + front().host.reply;
    ++out_.cancellations;
    for (std::vector<Sequence>* stage : {&prompts_, &sequences_}) {
      if (stage->empty()) continue;
      Sequence& s = (*stage)[static_cast<std::size_t>(i)];
      if (s.replica < 0) continue;
      ServingReplica& r = *replicas_[static_cast<std::size_t>(std::exchange(s.replica, -1))];
      record.preemptions += s.preemptions;
      r.scheduler->cancel(s);
      leave(r);
    }
    out_.end = std::max(out_.end, record.last);
    over(i, record.last, false);
  }

  // A server answers with an error at once.
  bool refuse(const Request& r, Count i) {
    const Count whole = r.input + r.longest(), draft = o_.pool.limits.speculation.draft;
    std::string why;
    const PoolOptions& f = front();
    if (o_.context_limit > 0 && whole > o_.context_limit)
      why = fmt::format("the context limit is {}", o_.context_limit);
    else if (o_.pool.geometry.blocks_for(whole + draft) > o_.pool.blocks ||
             f.geometry.blocks_for(r.input + 1) > f.blocks)
      why = fmt::format("the cache holds {}", std::min(o_.pool.blocks, f.blocks) * o_.pool.geometry.block_tokens);
    else if (!f.limits.chunked_prefill && r.input > f.limits.max_tokens && f.limits.policy != Policy::sglang)
      why = fmt::format("a step computes {} and prompts are not cut", f.limits.max_tokens);
    else return false;
    ++out_.refusals;
    if (out_.refused.size() < 5)
      out_.refused.push_back(fmt::format("request {}: {} + {} tokens, {}", i, r.input, r.longest(), why));
    return true;
  }

  const PoolOptions& front() const { return o_.prefill ? *o_.prefill : o_.pool; }

  // What a router may know of the prompt: its path, or its prefix and the conversation it goes on.
  std::span<const PathSegment> beginnings_of(const Sequence& s) {
    if (o_.paths && s.request.path >= 0) return o_.paths->of(s.request.path);
    std::size_t parts = 0;
    if (s.request.prefix >= 0) beginnings_[parts++] = {s.request.prefix, s.request.prefix_tokens};
    if (followers_.any()) beginnings_[parts++] = {-2 - followers_.chain_of(s.id), s.request.input};
    return {beginnings_.data(), parts};
  }
  ServingReplica& route(const Sequence& s, bool to_front) {
    const bool apart = to_front && o_.prefill;
    const auto begins = beginnings_of(s);
    const Count chosen =
        apart ? decoding_ + prompts_router_.choose(s.request.input, begins) : router_.choose(s.request.input, begins);
    return *replicas_[static_cast<std::size_t>(chosen)];
  }
  void leave(ServingReplica& r) {
    if (r.number >= decoding_) return prompts_router_.ended(r.number - decoding_);
    router_.ended(r.number);
    if (fleet_) fleet_->ended(r.number / o_.pool.in_step, now_);
  }

  // Replicas that are started and stopped (serve/autoscale.h).
  void start_fleet() {
    if (!o_.autoscale || requests_.empty()) return;
    const Seconds begin = requests_.front().arrival;
    const Count started = std::clamp(o_.pool.replicas / o_.pool.in_step, o_.autoscale->least, o_.autoscale->most);
    fleet_.emplace(*o_.autoscale, router_, o_.pool.in_step, started, begin);
    at(begin + o_.autoscale->interval, EventKind::look, 0);
  }
  void look_at_fleet() {
    if (ended_ == static_cast<Count>(requests_.size())) return;
    Count waiting = 0;
    for (const auto& r : replicas_) waiting += static_cast<Count>(r->scheduler->waiting());
    for (const Fleet::Started& s : fleet_->look(now_, waiting)) at(s.ready_at, EventKind::ready, s.number);
    at(now_ + o_.autoscale->interval, EventKind::look, 0);
  }
  void replica_ready(Count started) {
    if (ended_ == static_cast<Count>(requests_.size())) return;
    const Count unit = fleet_->ready(started, now_);
    if (unit < 0) return;
    for (Count r = unit * o_.pool.in_step; r < (unit + 1) * o_.pool.in_step; ++r) {
      // A request that was cancelled in a step holds its blocks to the step's end.
      if (replicas_[static_cast<std::size_t>(r)]->cache.held() == 0)
        replicas_[static_cast<std::size_t>(r)]->cache.clear();
      replicas_[static_cast<std::size_t>(r)]->warm = false;
    }
  }

  void arrive(Count i) {
    Sequence& s = o_.prefill ? prompts_[static_cast<std::size_t>(i)] : sequences_[static_cast<std::size_t>(i)];
    s.id = i;
    s.request = requests_[static_cast<std::size_t>(i)];
    if (o_.prefill) s.request.output = 1, s.request.most_output = 0;
    if (!out_.requests[static_cast<std::size_t>(i)].cancelled) enter(s, route(s, true));
    if (o_.concurrency == 0 && !followers_.any()) send_next();
  }
  void enter(Sequence& s, ServingReplica& replica) {
    s.replica = replica.number, s.entered = now_;
    s.chain = followers_.chain_of(s.id);
    if (o_.paths) s.path = o_.paths->of(s.request.path);
    replica.scheduler->add(s);
    if (!replica.busy) at(now_, EventKind::wake, replica.number);
  }
  // Keys and values have come to the pool that decodes.
  void receive(Count i) {
    Sequence& s = sequences_[static_cast<std::size_t>(i)];
    s.id = i;
    s.request = requests_[static_cast<std::size_t>(i)];
    s.generated = 1;
    s.received = s.request.input;
    if (!out_.requests[static_cast<std::size_t>(i)].cancelled) enter(s, route(s, false));
  }

  void start_step(ServingReplica& r) {
    if (r.options.stages > 1) return enter_pipeline(r);
    const auto [first, last] = in_step_with(r);
    for (Count i = first; i < last; ++i)
      if (replicas_[static_cast<std::size_t>(i)]->busy) return;
    // Those that share experts start together and wait for the slowest.
    Seconds time;
    const bool hold = !r.planned && holds_prompts(first, last);
    for (Count i = first; i < last; ++i) {
      ServingReplica& each = *replicas_[static_cast<std::size_t>(i)];
      if (each.planned) std::swap(each.now, each.next);
      else each.scheduler->plan(each.now, hold);
      each.planned = false;
      if (each.now.items.empty()) continue;
      each.adapters.note(each.now);
      each.spent = step_spent(each.now.batch, each.options, each.free_at < now_);
      wait_for_keys(each.spent, each.now.moves, each.options);
      if (!std::exchange(each.warm, true)) each.spent.time += each.options.cold_start;
      time = std::max(time, each.spent.time);
    }
    for (Count i = first; i < last; ++i) {
      ServingReplica& each = *replicas_[static_cast<std::size_t>(i)];
      if (!each.now.items.empty()) run_step(each, time);
    }
    plan_next(first, last);
  }
  // tensorrt_llm/_torch/pyexecutor/py_executor.py, _balance_adp_requests: prompts wait until every rank has some,
  // unless they have waited long enough or a rank would have nothing to do.
  bool holds_prompts(Count first, Count last) {
    ServingReplica& head = *replicas_[static_cast<std::size_t>(first)];
    if (head.options.limits.balance_steps == 0) return false;
    bool all_wait = true, some_wait = false, all_run = true;
    for (Count i = first; i < last; ++i) {
      const Scheduler& scheduler = *replicas_[static_cast<std::size_t>(i)]->scheduler;
      all_wait = all_wait && scheduler.waiting() > 0, some_wait = some_wait || scheduler.waiting() > 0;
      all_run = all_run && scheduler.running() > 0;
    }
    const bool hold = !all_wait && all_run && some_wait && ++head.held_back < head.options.limits.balance_steps;
    if (!hold) head.held_back = 0;
    return hold;
  }
  // Planning overlaps the step that runs.
  void plan_next(Count first, Count last) {
    const bool hold = holds_prompts(first, last);
    for (Count i = first; i < last; ++i) {
      ServingReplica& r = *replicas_[static_cast<std::size_t>(i)];
      if (!r.busy || !r.options.host.overlapped || r.planned) continue;
      r.scheduler->plan(r.next, hold);
      r.planned = !r.next.items.empty();
    }
  }
  std::pair<Count, Count> in_step_with(const ServingReplica& r) const {
    const Count first = r.number < decoding_ ? 0 : decoding_;
    const Count group = (r.number - first) / r.options.in_step * r.options.in_step + first;
    return {group, std::min(group + r.options.in_step, first > 0 ? static_cast<Count>(replicas_.size()) : decoding_)};
  }
  void run_step(ServingReplica& r, Seconds time) {
    begin(r, r.now, now_ + time, r.spent);
    r.busy = true;
    at(now_ + time, EventKind::step_end, r.number);
  }

  // A pipeline takes a step as soon as its first stage is free; requests whose token is still on its way are not in it.
  // vLLM holds as many batches at once as there are stages (vllm/v1/engine/core.py, step_with_batch_queue), and so do
  // SGLang (managers/scheduler_pp_mixin.py, one running batch a stage) and TensorRT-LLM (py_executor.py,
  // _executor_loop_pp, num_micro_batches = pp_size).
  void enter_pipeline(ServingReplica& r) {
    if (now_ < r.entry_free_at || static_cast<Count>(r.flight.size()) >= r.options.stages) return;
    StepPlan plan;
    r.scheduler->plan(plan);
    if (plan.items.empty()) return;
    r.adapters.note(plan);
    StepSpent spent = step_spent(plan.batch, r.options, r.flight.empty() && r.free_at < now_);
    wait_for_keys(spent, plan.moves, r.options);
    if (!std::exchange(r.warm, true)) spent.time += r.options.cold_start;
    const Seconds time = spent.time;
    const Seconds stage = time * r.options.stage_share;
    r.entry_free_at = now_ + stage;
    r.last_end = std::max(now_ + time, r.flight.empty() ? seconds(0) : r.last_end + stage);
    begin(r, plan, r.last_end, spent);
    r.flight.push_back(std::move(plan));
    at(r.last_end, EventKind::step_end, r.number);
    at(r.entry_free_at, EventKind::wake, r.number);
  }

  void wait_for_keys(StepSpent& spent, const KvMoves& moves, const PoolOptions& pool) {
    if (!moves.any()) return;
    spent.time = std::max(spent.time, time_of(moves, pool.offload));
    for (std::size_t tier = 0; tier < moves.loaded.size(); ++tier) {
      out_.loaded[tier] += moves.loaded[tier] * pool.geometry.block_tokens;
      out_.stored[tier] += moves.stored[tier] * pool.geometry.block_tokens;
    }
  }

  void begin(const ServingReplica& r, const StepPlan& plan, Seconds end, const StepSpent& spent) {
    for (const PlannedItem& item : plan.items) {
      Sequence& s = *item.sequence;
      if (!s.started) s.started = true, s.scheduled = now_;
    }
    StepRecord step;
    step.start = now_, step.end = end;
    step.replica = r.number;
    step.prompt_tokens = static_cast<std::int32_t>(plan.batch.prefill_tokens());
    step.decodes = static_cast<std::int32_t>(plan.batch.decodes);
    step.running = static_cast<std::int32_t>(plan.items.size());
    step.waiting = static_cast<std::int32_t>(r.scheduler->waiting());
    step.cache = static_cast<float>(r.cache.utilisation());
    // Stages of a pipeline compute in turn, each GPU its part of the kernels.
    const Seconds each = spent.gpu * (static_cast<double>(r.options.abreast) / static_cast<double>(r.options.gpus));
    step.gpu = static_cast<float>(each.base());
    step.joules = static_cast<float>(spent.joules * static_cast<double>(r.options.abreast));
    log_.add_step(step);
    out_.busy += each;
    if (r.number < decoding_) out_.most_blocks = std::max(out_.most_blocks, r.cache.held());
  }

  void end_step(ServingReplica& r) {
    const bool piped = r.options.stages > 1;
    const StepPlan& plan = piped ? r.flight.front() : r.now;
    for (const PlannedItem& item : plan.items) {
      Sequence& s = *item.sequence;
      --s.in_plans;
      if (s.gone) {
        if (s.in_plans == 0) r.scheduler->finish(s);
        continue;
      }
      if (item.emits > 0) {
        s.in_flight = false;
        give_tokens(s, r, item.emits);
      }
      if (!item.ends) continue;
      r.scheduler->finish(s);
      s.replica = -1;
      leave(r);
      if (r.number >= decoding_ && requests_[static_cast<std::size_t>(s.id)].output > 1) transfer(s, r);
      else end_request(s);
    }
    if (piped) r.flight.pop_front();
    r.busy = false;
    r.free_at = now_;
    start_step(r);
  }

  void give_tokens(Sequence& s, const ServingReplica& r, Count tokens) {
    RequestRecord& record = out_.requests[static_cast<std::size_t>(s.id)];
    const Seconds here = now_ + r.options.host.reply;  // with the client
    const bool decodes_elsewhere = o_.prefill && r.number < decoding_;
    if (!decodes_elsewhere && !s.first_given) {
      s.first_given = true;
      record.first = here;
      record.scheduled = s.scheduled;
      record.hits = s.hits;
    } else {
      log_.add_gap(here - record.last);
    }
    record.last = here;
    record.given += tokens;
  }

  void transfer(const Sequence& s, ServingReplica& r) {
    out_.requests[static_cast<std::size_t>(s.id)].preemptions += s.preemptions;
    const KvGeometry& g = r.options.geometry;
    const Bytes size = g.block_bytes() * static_cast<double>(g.blocks_for(s.request.input));
    r.link_free_at = std::max(r.link_free_at, now_) + o_.link.latency + size / o_.link.bandwidth;
    at(r.link_free_at, EventKind::transferred, s.id);
  }

  void end_request(const Sequence& s) {
    RequestRecord& record = out_.requests[static_cast<std::size_t>(s.id)];
    record.preemptions += s.preemptions;
    out_.end = std::max(out_.end, record.last);
    over(s.id, record.last, true);
    if (progress_ && ended_ % 256 == 0) progress_(static_cast<double>(ended_) / static_cast<double>(requests_.size()));
  }

  const SimulationOptions& o_;
  const std::vector<Request>& requests_;
  Turns followers_;
  const std::function<void(double)>& progress_;
  std::vector<std::unique_ptr<ServingReplica>> replicas_;
  std::vector<Sequence> sequences_, prompts_;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  Seconds now_, front_free_at_;
  bool begun_ = false;  // something was sent
  Count order_ = 0, next_ = 0, in_flight_ = 0, ended_ = 0;
  Count decoding_;  // replicas of the pool that decodes; those for prompts follow them
  ReplicaRouter router_, prompts_router_;
  std::optional<Fleet> fleet_;
  std::array<PathSegment, 2> beginnings_{};
  ServingOutcome out_;
  RunLog log_{out_};
};

}  // namespace

Result<ServingOutcome> simulate(const std::vector<Request>& requests, const SimulationOptions& options,
                                const std::function<void(double)>& progress) {
  if (auto fine = check(options.pool, "pool"); !fine) return fine.error();
  if (options.prefill) {
    if (auto fine = check(*options.prefill, "prefill pool"); !fine) return fine.error();
    if (!(options.link.bandwidth.base() > 0)) return field_error("link", "needs a bandwidth");
  }
  if (options.autoscale) {
    if (auto fine = check(*options.autoscale); !fine) return fine.error();
    if (options.prefill) return field_error("autoscale", "works on one pool alone", "no replicas for prompts");
  }
  for (const Request& r : requests)
    if (r.input < 1 || r.output < 1) return error("a request must have a token of prompt and of answer at least");
  if (auto fine = check_turns(requests); !fine) return fine.error();
  for (const Request& r : requests)
    if (r.path >= 0 && (!options.paths || static_cast<std::size_t>(r.path) >= options.paths->ends.size()))
      return error("a request's path is not among those given");
  ServingOutcome outcome = Simulation(requests, options, progress).run();
  // What waits fits an empty cache: refuse() saw to it.
  assert(outcome.unfinished == 0);
  return outcome;
}

}  // namespace tilecast
