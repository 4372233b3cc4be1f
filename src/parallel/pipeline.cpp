// All schedules are one order with other offsets. Every rank runs its forwards 0, 1 ... N-1 and its backwards 0, 1 ...
// N-1 (N = micro-batches x chunks), and in step s, of n ranks, rank i runs
//
//   forward          s + (n-1-i) + ahead
//   backward         s - skew (n-1-i)
//   weight gradient  s - lag i               (zero-bubble only)
//
// in this order, each where such a number exists. What a task waits for then ended either in the step before or, where
// skew is 0, in the same step on the next rank; so the times that matter are three for each rank: when it is free, and
// when what it sent last arrives, forward and backward.
//
//   1f1b         ahead 0, skew 0: n-1-i forwards, then one forward, one backward (PipeDream-flush, Narayanan et al.
//   2021,
//                https://arxiv.org/abs/2104.04473)
//   gpipe        ahead = micro-batches: no backward before the last forward (Huang et al. 2019); backwards run in
//                the order of forwards, as PyTorch's ScheduleGPipe does
//   interleaved  ahead = (chunks-1) n, skew 1: 2 (n-1-i) + (chunks-1) n forwards to warm up, and n micro-batches of a
//                chunk after another (Megatron-LM, core/pipeline_parallel/schedules.py, get_pp_rank_microbatches and
//                forward_backward_pipelining_with_interleaving)
//   zero-bubble  1f1b with lag 1: rank i is i weight gradients behind, so that every rank keeps n micro-batches (ZB-H1
//   of
//                Qi et al. 2023, https://arxiv.org/abs/2401.10241, section 2.1; "delay W by rank" in the authors' code)
#include "parallel/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "parallel/pipeline_v.h"

namespace tilecast {
namespace {

// The steps in which a kind of task runs: on some rank, and on all ranks.
struct Steps {
  Count first, all_first, all_last, last;
};

// The times of all ranks, and what one step does to them.
class Machine {
 public:
  explicit Machine(const Pipeline& p)
      : ranks_(p.ranks),
        chunks_(p.chunks),
        tasks_(Count{p.micro_batches} * p.chunks),
        ahead_(p.schedule == PipelineSchedule::gpipe         ? p.micro_batches
               : p.schedule == PipelineSchedule::interleaved ? (Count{p.chunks} - 1) * p.ranks
                                                             : 0),
        skewed_(p.schedule == PipelineSchedule::interleaved),
        split_(p.schedule == PipelineSchedule::zero_bubble),
        send_(p.ranks > 1 ? p.send.base() : 0) {
    const std::size_t n = index(ranks_), stages = p.stages.size();
    memory_.assign(3 * stages + 2 * 3 * (n + 1), 0);
    double* at = memory_.data();
    const auto take = [&](std::size_t size) { return std::span(std::exchange(at, at + size), size); };
    forward_ = take(stages), backward_ = take(stages), weight_ = take(stages);
    state_ = take(3 * (n + 1)), saved_ = take(3 * (n + 1));
    free_ = state_.subspan(0, n + 1), down_ = state_.subspan(n + 1, n + 1), up_ = state_.subspan(2 * (n + 1), n + 1);
    for (std::size_t i = 0; i < stages; ++i) {
      const StageTimes& t = p.stages[i];
      forward_[i] = t.forward.base();
      backward_[i] = split_ ? t.backward_input.base() : t.backward_input.base() + t.backward_weight.base();
      weight_[i] = t.backward_weight.base();
    }
    const Count back = skewed_ ? ranks_ - 1 : 0;
    steps_[0] = {1 - ranks_ - ahead_, -ahead_, tasks_ - ranks_ - ahead_, tasks_ - 1 - ahead_};
    steps_[1] = {0, back, tasks_ - 1, tasks_ - 1 + back};
    steps_[2] = {0, ranks_ - 1, tasks_ - 1, tasks_ + ranks_ - 2};
  }

  Count first_step() const { return steps_[0].first; }
  Count last_step() const { return steps_[split_ ? 2 : 1].last; }
  Seconds end() const { return seconds(*std::max_element(free_.begin(), free_.end() - 1)); }

  // `record(rank, chunk, number, phase, begin, end)` sees every task.
  template <class Record>
  void step(Count s, Record&& record) {
    run_forward(s, record);
    run_backward(s, record);
    if (split_) run_weight(s, record);
  }

  // Where the step just taken repeats an earlier one, takes all repetitions that fit at once. The steps left out.
  Count leap(Count s);

 private:
  static std::size_t index(Count i) { return static_cast<std::size_t>(i); }
  int chunk_of(Count number) const { return chunks_ == 1 ? 0 : static_cast<int>(number / ranks_ % chunks_); }

  // down_[i]: when the input of the forward that rank i runs next is there. Ranks are taken from the last to the first,
  // so that a rank reads what the one before sent in the step before.
  template <class Record>
  void run_forward(Count s, Record& record) {
    const Count top = s + ranks_ - 1 + ahead_;  // the number that rank 0 runs
    const Count lo = std::max<Count>(0, top - tasks_ + 1), hi = std::min<Count>(ranks_, top + 1);
    if (lo >= hi) return;
    down_[0] = chunk_of(std::max<Count>(0, top)) == 0 ? 0 : down_[index(ranks_)];
    for (Count i = hi - 1; i >= lo;) {
      // A run of ranks that are at the same chunk.
      const int chunk = chunk_of(top - i);
      const Count end = chunks_ == 1 ? lo : std::max(lo, top - (top - i) / ranks_ * ranks_ - ranks_ + 1);
      const double* time = forward_.data() + Count{chunk} * ranks_;
      for (; i >= end; --i) {
        const std::size_t r = index(i);
        const double begin = std::max(free_[r], down_[r]);
        free_[r] = begin + time[i];
        down_[r + 1] = free_[r] + send_;
        record(i, chunk, top - i, PipelinePhase::forward, begin, free_[r]);
      }
    }
  }

  // up_[i + 1]: when the gradient that rank i reads next is there.
  template <class Record>
  void run_backward(Count s, Record& record) {
    const PipelinePhase back = split_ ? PipelinePhase::backward_input : PipelinePhase::backward;
    const auto run = [&](Count i, Count number) {
      const std::size_t r = index(i);
      const int chunk = chunks_ - 1 - chunk_of(number);
      const double begin = std::max(free_[r], up_[r + 1]);
      free_[r] = begin + backward_[index(chunk * ranks_ + i)];
      up_[r] = free_[r] + send_;
      record(i, chunk, number, back, begin, free_[r]);
    };
    if (!skewed_) {
      if (s < 0 || s >= tasks_) return;
      for (Count i = ranks_ - 1; i >= 0; --i) run(i, s);
      return;
    }
    const Count shift = s - ranks_ + 1;  // rank i runs shift + i
    const Count lo = std::max<Count>(0, -shift), hi = std::min<Count>(ranks_, tasks_ - shift);
    if (lo >= hi) return;
    up_[index(ranks_)] = chunk_of(std::max<Count>(0, s)) == 0 ? 0 : up_[0];
    for (Count i = lo; i < hi; ++i) run(i, shift + i);
  }

  template <class Record>
  void run_weight(Count s, Record& record) {
    for (Count i = std::max<Count>(0, s - tasks_ + 1); i < std::min<Count>(ranks_, s + 1); ++i) {
      const double begin = free_[index(i)];
      free_[index(i)] += weight_[index(i)];
      record(i, 0, s - i, PipelinePhase::backward_weight, begin, free_[index(i)]);
    }
  }

  Count steady_until(Count s) const;
  bool runs(int kind, Count s) const { return s >= steps_[kind].first && s <= steps_[kind].last; }
  template <class F>
  bool all_times(Count s, F&& holds) const;

  Count ranks_;
  int chunks_;
  Count tasks_, ahead_;
  bool skewed_, split_;
  double send_;
  std::vector<double> memory_;
  std::span<double> forward_, backward_, weight_;
  std::span<double> state_, free_, down_, up_;
  Steps steps_[3];

  // Brent's search for a cycle: a state is compared with those that follow, twice as many as the one before it was.
  std::span<double> saved_;
  Count saved_step_ = 0, steady_end_ = std::numeric_limits<Count>::min(), waited_ = 0, power_ = 1;
};

// The last step of those from s on in which each kind of task runs on all ranks or on none; s - 1 if s is not one.
Count Machine::steady_until(Count s) const {
  Count until = std::numeric_limits<Count>::max();
  for (int kind = 0; kind < (split_ ? 3 : 2); ++kind) {
    const Steps& k = steps_[kind];
    if (s < k.first) until = std::min(until, k.first - 1);
    else if (s > k.last) continue;
    else if (s < k.all_first || s > k.all_last) return s - 1;
    else until = std::min(until, k.all_last);
  }
  return until;
}

// Whether `holds` of every time that later steps read.
template <class F>
bool Machine::all_times(Count s, F&& holds) const {
  const std::size_t n = index(ranks_);
  for (std::size_t i = 0; i < n; ++i)
    if (!holds(i)) return false;
  for (std::size_t i = 1; i <= n && runs(0, s); ++i)
    if (!holds(n + 1 + i)) return false;
  for (std::size_t i = 0; i < n && runs(1, s); ++i)
    if (!holds(2 * (n + 1) + i)) return false;
  return true;
}

Count Machine::leap(Count s) {
  // Steps of different chunks are no repetitions of each other.
  if (chunks_ > 1 && s % (ranks_ * chunks_) != 0) return 0;
  if (s > steady_end_) {
    const Count until = steady_until(s);
    if (until < s) return 0;
    steady_end_ = until, power_ = 1;
  } else {
    // A step is a max-plus linear map, so a difference that is the same everywhere stays. Where it is the same but for
    // some e, k repetitions are off by k e at most: less than 1e-10 of the time they take.
    const double by = state_[0] - saved_[0], slack = 1e-10 * by;
    if (all_times(s, [&](std::size_t i) { return std::abs(state_[i] - saved_[i] - by) <= slack; })) {
      const Count period = s - saved_step_, times = (steady_end_ - s) / period;
      all_times(s, [&](std::size_t i) { return state_[i] += by * static_cast<double>(times), true; });
      steady_end_ = s - 1;  // what is left is less than a period
      return times * period;
    }
    if (++waited_ < power_) return 0;
    power_ *= 2;
  }
  std::copy(state_.begin(), state_.end(), saved_.begin());
  saved_step_ = s, waited_ = 0;
  return 0;
}

// What the order alone decides, and the work.
PipelineTimeline shell(const Pipeline& p) {
  PipelineTimeline t;
  for (int i = 0; i < p.ranks; ++i) {
    Seconds busy;
    for (int c = 0; c < p.chunks; ++c) {
      const StageTimes& stage = p.stages[static_cast<std::size_t>(c * p.ranks + i)];
      busy += stage.forward + (stage.backward_input + stage.backward_weight);
    }
    t.busy.push_back(busy * p.micro_batches), t.saved.emplace_back();
    const double m = p.micro_batches, behind = p.ranks - 1 - i;
    switch (p.schedule) {
      case PipelineSchedule::gpipe: t.kept.push_back(m); break;
      case PipelineSchedule::one_f_one_b: t.kept.push_back(std::min(m, behind + 1)); break;
      case PipelineSchedule::zero_bubble: t.kept.push_back(std::min<double>(m, p.ranks)); break;
      case PipelineSchedule::interleaved:
        t.kept.push_back(std::min(m * p.chunks, 2 * behind + (p.chunks - 1.0) * p.ranks + 1));
        break;
      case PipelineSchedule::zero_bubble_v:
      case PipelineSchedule::dual_pipe_v: break;  // pipeline_v.h
    }
  }
  return t;
}

// A rank alone never waits: its time is its work, without the rounding of a long sum.
Seconds total_of(const Pipeline& p, const Machine& machine, const PipelineTimeline& t) {
  return p.ranks == 1 ? t.busy[0] : machine.end();
}

}  // namespace

Result<PipelineSchedule> pipeline_schedule_from(std::string_view name) {
  const auto at = std::find(kPipelineScheduleNames.begin(), kPipelineScheduleNames.end(), name);
  if (at == kPipelineScheduleNames.end())
    return error(fmt::format("no pipeline schedule is called '{}'", name),
                 fmt::format("one of {}", fmt::join(kPipelineScheduleNames, ", ")));
  return static_cast<PipelineSchedule>(at - kPipelineScheduleNames.begin());
}

Seconds together(Seconds compute, Seconds exchange, double share) {
  const Seconds meanwhile = exchange * (1 - share);  // computing done while the exchange runs
  return meanwhile >= compute ? exchange : compute + exchange * share;
}

Seconds paired(const StageTimes& f, const StageTimes& b, double share) {
  const Seconds exchange = f.forward_exchange + b.backward_exchange;
  const Seconds alone = f.forward + (b.backward_input + b.backward_weight);
  return std::min(alone, together(alone - exchange, exchange, share));
}

Status check(const Pipeline& p) {
  if (p.ranks < 1) return field_error("pipeline ranks", fmt::format("must be 1 or more, not {}", p.ranks));
  if (p.chunks < 1) return field_error("chunks", fmt::format("must be 1 or more, not {}", p.chunks));
  if (p.micro_batches < 1 || p.micro_batches > kMostMicroBatches)
    return field_error("micro-batches", fmt::format("must be 1 to {}, not {}", kMostMicroBatches, p.micro_batches));
  if (Count{p.ranks} * p.chunks > kMostVirtualStages)
    return field_error("pipeline", fmt::format("{} ranks of {} chunks are more than {} stages", p.ranks, p.chunks,
                                               kMostVirtualStages));
  if (p.stages.size() != static_cast<std::size_t>(p.ranks) * static_cast<std::size_t>(p.chunks))
    return field_error("stages", fmt::format("{} given, {} ranks of {} chunks have {}", p.stages.size(), p.ranks,
                                             p.chunks, Count{p.ranks} * p.chunks));
  const bool v = is_v(p.schedule);
  if (v && p.chunks != 2)
    return field_error("chunks", fmt::format("{} has two chunks a rank, not {}", name_of(p.schedule), p.chunks));
  if (v && Count{p.micro_batches} * p.ranks > kMostInAV)
    return field_error("micro-batches",
                       fmt::format("{} on {} ranks are more than {} in all", p.micro_batches, p.ranks, kMostInAV),
                       "give a larger micro-batch, or the schedule zero-bubble");
  if (p.schedule != PipelineSchedule::interleaved && !v && p.chunks != 1)
    return field_error("chunks", fmt::format("{} has one chunk a rank, not {}", name_of(p.schedule), p.chunks),
                       "choose the schedule interleaved, or one chunk");
  if (p.schedule == PipelineSchedule::interleaved && p.micro_batches % p.ranks != 0) {
    const int below = p.micro_batches / p.ranks * p.ranks;
    return field_error("micro-batches",
                       fmt::format("interleaved takes a multiple of the {} ranks, not {}", p.ranks, p.micro_batches),
                       below == 0 ? fmt::format("{}, or the schedule 1f1b", p.ranks)
                                  : fmt::format("{} or {}, or the schedule 1f1b", below, below + p.ranks));
  }
  const auto time = [](Seconds t) { return std::isfinite(t.base()) && t.base() >= 0; };
  for (const StageTimes& s : p.stages)
    if (!time(s.forward) || !time(s.backward_input) || !time(s.backward_weight))
      return field_error("stages", "a time is negative or not a number");
  if (!time(p.send)) return field_error("send", "the time is negative or not a number");
  return Ok{};
}

double PipelineTimeline::bubble() const {
  Seconds sum;
  for (const Seconds b : busy) sum += b;
  const Seconds all = total * static_cast<double>(busy.size());
  return all > Seconds{} ? std::max(0.0, 1 - sum / all) : 0;
}

PipelineTimeline simulate(const Pipeline& p) {
  if (is_v(p.schedule)) return simulate_v(p, true);
  PipelineTimeline t = shell(p);
  const Count phases = p.schedule == PipelineSchedule::zero_bubble ? 3 : 2;
  const auto per_rank = static_cast<std::size_t>(phases * p.micro_batches * p.chunks);
  t.tasks.resize(per_rank * static_cast<std::size_t>(p.ranks));
  std::vector<std::size_t> next(static_cast<std::size_t>(p.ranks));
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = i * per_rank;
  const auto record = [&](Count rank, int chunk, Count number, PipelinePhase phase, double begin, double end) {
    const Count group = Count{p.ranks} * p.chunks;
    const auto micro_batch = static_cast<int>(number / group * p.ranks + number % p.ranks);
    t.tasks[next[static_cast<std::size_t>(rank)]++] = {static_cast<int>(rank), chunk,       micro_batch, phase,
                                                       seconds(begin),         seconds(end)};
  };
  Machine machine(p);
  for (Count s = machine.first_step(); s <= machine.last_step(); ++s) machine.step(s, record);
  t.total = total_of(p, machine, t);
  return t;
}

PipelineTimeline summarise(const Pipeline& p) {
  if (is_v(p.schedule)) return simulate_v(p, false);
  PipelineTimeline t = shell(p);
  if (p.ranks == 1) return t.total = t.busy[0], t;
  Machine machine(p);
  for (Count s = machine.first_step(); s <= machine.last_step(); ++s) {
    machine.step(s, [](Count, int, Count, PipelinePhase, double, double) {});
    s += machine.leap(s);
  }
  t.total = machine.end();
  return t;
}

}  // namespace tilecast
