#include "serve/simulator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>

#include "serve/clients.h"
#include "serve/replica_steps.h"

namespace tilecast {
namespace {

constexpr Count kEventsBetweenLooks = 1 << 14;

class Simulation {
 public:
  Simulation(const std::vector<Request>& requests, const SimulationOptions& options, const Watch& progress)
      : o_(options),
        requests_(requests),
        progress_(progress),
        clients_(requests, options, events_, out_),
        decoding_(most_replicas(options)),
        steps_(replicas_, decoding_, events_, out_),
        router_(of_answers(options), decoding_, options.prefixes),
        prompts_router_(options.router, options.prefill ? options.prefill->replicas : 1, options.prefixes) {
    for (Count i = 0; i < decoding_; ++i) add_replica(o_.pool);
    if (o_.prefill)
      for (Count i = 0; i < o_.prefill->replicas; ++i) add_replica(*o_.prefill);
    sequences_.resize(requests.size());
    if (o_.prefill) prompts_.resize(requests.size());
    out_.requests.resize(requests.size());
    Count gaps = 0;
    for (const Request& r : requests) gaps += r.output - 1;
    if (options.keep_gaps) steps_.log().expect_gaps(gaps);
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

  bool was_stopped() const { return stopped_; }
  ServingOutcome run() {
    start_fleet();
    clients_.send_next();
    while (!events_.empty() && !stopped_ && !clients_.needed_ended()) {
      const Event event = events_.take();
      if (++looks_ % kEventsBetweenLooks == 0) look_up();  // answers may be long in coming
      switch (event.kind) {
        case EventKind::arrival: arrive(event.subject); break;
        case EventKind::step_end: end_step(*replicas_[static_cast<std::size_t>(event.subject)]); break;
        case EventKind::transferred: receive(event.subject); break;
        case EventKind::send: clients_.send_turn(event.subject); break;
        case EventKind::first_due:
        case EventKind::all_due: give_up(event.subject, event.kind == EventKind::all_due); break;
        case EventKind::wake: steps_.start(*replicas_[static_cast<std::size_t>(event.subject)]); break;
        case EventKind::ready: replica_ready(event.subject); break;
        case EventKind::look: look_at_fleet(); break;
      }
    }
    if (fleet_) std::move(*fleet_).finish(out_, o_.pool.in_step * o_.pool.gpus, o_.pool.idle);
    for (const auto& replica : replicas_) out_.blocks_left += replica->cache.held();
    if (clients_.needed_ended()) out_.requests.resize(static_cast<std::size_t>(o_.needed));
    else out_.unfinished = static_cast<Count>(requests_.size()) - clients_.ended();
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
  // The client's patience ends.
  void give_up(Count i, bool with_all) {
    if (!clients_.loses_patience(i, with_all)) return;
    RequestRecord& record = out_.requests[static_cast<std::size_t>(i)];
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
    clients_.over(i, record.last, false);
  }

  // What a router may know of the prompt: its path, or its prefix and the conversation it goes on.
  std::span<const PathSegment> beginnings_of(const Sequence& s) {
    if (o_.paths && s.request.path >= 0) return o_.paths->of(s.request.path);
    std::size_t parts = 0;
    if (s.request.prefix >= 0) beginnings_[parts++] = {s.request.prefix, s.request.prefix_tokens};
    if (clients_.turns().any()) beginnings_[parts++] = {-2 - clients_.turns().chain_of(s.id), s.request.input};
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
    if (fleet_) fleet_->ended(r.number / o_.pool.in_step, events_.now());
  }

  // Replicas that are started and stopped (serve/autoscale.h).
  void start_fleet() {
    if (!o_.autoscale || requests_.empty()) return;
    const Seconds begin = requests_.front().arrival;
    const Count started = std::clamp(o_.pool.replicas / o_.pool.in_step, o_.autoscale->least, o_.autoscale->most);
    fleet_.emplace(*o_.autoscale, router_, o_.pool.in_step, started, begin);
    events_.at(begin + o_.autoscale->interval, EventKind::look, 0);
  }
  void look_at_fleet() {
    if (clients_.all_ended()) return;
    Count waiting = 0;
    for (const auto& r : replicas_) waiting += static_cast<Count>(r->scheduler->waiting());
    for (const Fleet::Started& s : fleet_->look(events_.now(), waiting))
      events_.at(s.ready_at, EventKind::ready, s.number);
    events_.at(events_.now() + o_.autoscale->interval, EventKind::look, 0);
  }
  void replica_ready(Count started) {
    if (clients_.all_ended()) return;
    const Count unit = fleet_->ready(started, events_.now());
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
    if (o_.concurrency == 0 && !clients_.sends_in_time()) clients_.send_next();
  }
  void enter(Sequence& s, ServingReplica& replica) {
    s.replica = replica.number, s.entered = events_.now();
    s.chain = clients_.turns().chain_of(s.id);
    if (o_.paths) s.path = o_.paths->of(s.request.path);
    replica.scheduler->add(s);
    if (!replica.busy) events_.at(events_.now(), EventKind::wake, replica.number);
  }
  // Keys and values have come to the pool that decodes.
  void receive(Count i) {
    Sequence& s = sequences_[static_cast<std::size_t>(i)];
    s.id = i;
    s.request = requests_[static_cast<std::size_t>(i)];
    s.generated = 1;
    s.received = s.request.input;
    if (out_.requests[static_cast<std::size_t>(i)].cancelled) return;
    ServingReplica& replica = route(s, false);
    give_tokens(s, replica, 1);
    enter(s, replica);
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
    r.free_at = events_.now();
    steps_.start(r);
  }

  void give_tokens(Sequence& s, const ServingReplica& r, Count tokens) {
    RequestRecord& record = out_.requests[static_cast<std::size_t>(s.id)];
    const bool prompt_alone = r.number >= decoding_, answers_prompts = o_.prefill && !prompt_alone;
    if (!answers_prompts && !s.first_given) record.scheduled = s.scheduled, record.hits = s.hits;
    // Whoever decodes answers the client, with the first token too: the routers of vLLM, SGLang, TensorRT-LLM and
    // Dynamo pass on its stream alone. (vLLM computes that token once more, in its first step: not modelled.)
    if (prompt_alone && requests_[static_cast<std::size_t>(s.id)].output > 1) return;
    const Seconds here = events_.now() + r.options.host.reply;  // with the client
    if (record.given == 0) {
      s.first_given = true;
      record.first = here;
      clients_.streams();
    } else if (o_.keep_gaps) {
      steps_.log().add_gap(here - record.last);
    }
    record.last = here;
    record.given += tokens;
  }

  void transfer(const Sequence& s, ServingReplica& r) {
    out_.requests[static_cast<std::size_t>(s.id)].preemptions += s.preemptions;
    const KvGeometry& g = r.options.geometry;
    const Bytes size = g.block_bytes() * static_cast<double>(g.blocks_for(s.request.input));
    r.link_free_at = std::max(r.link_free_at, events_.now()) + o_.link.latency + size / o_.link.bandwidth;
    events_.at(r.link_free_at, EventKind::transferred, s.id);
  }

  void look_up() {
    const double share = static_cast<double>(clients_.ended()) / static_cast<double>(requests_.size());
    stopped_ = stopped_ || !progress_.go_on(share);
  }

  void end_request(const Sequence& s) {
    RequestRecord& record = out_.requests[static_cast<std::size_t>(s.id)];
    record.preemptions += s.preemptions;
    out_.end = std::max(out_.end, record.last);
    clients_.over(s.id, record.last, true);
    const Count ended = clients_.ended();
    if (ended % 256 == 0) look_up();
  }

  const SimulationOptions& o_;
  const std::vector<Request>& requests_;
  const Watch& progress_;
  Count looks_ = 0;
  bool stopped_ = false;
  EventQueue events_;
  ServingOutcome out_;
  Clients clients_;
  Count decoding_;  // replicas of the pool that decodes; those for prompts follow them
  ServingReplicas replicas_;
  ReplicaSteps steps_;
  std::vector<Sequence> sequences_, prompts_;
  ReplicaRouter router_, prompts_router_;
  std::optional<Fleet> fleet_;
  std::array<PathSegment, 2> beginnings_{};
};

}  // namespace

Result<ServingOutcome> simulate(const std::vector<Request>& requests, const SimulationOptions& options,
                                const Watch& progress) {
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
  Simulation simulation(requests, options, progress);
  ServingOutcome outcome = simulation.run();
  if (simulation.was_stopped()) return stopped();
  // What waits fits an empty cache: refuse() saw to it.
  assert(outcome.unfinished == 0);
  return outcome;
}

}  // namespace tilecast
