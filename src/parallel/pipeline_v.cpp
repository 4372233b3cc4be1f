#include "parallel/pipeline_v.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace tilecast {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

struct Task {
  int chunk, micro_batch;
  PipelinePhase phase;
  bool with_next = false;  // a forward at the same time as the backward after it
};

// One rank's tasks in ZB-V's order. Counters say how many of each kind, by chunk, are in the list; it is made for at
// least the 2 n - 1 micro-batches that fill n ranks, and those that do not exist are left out.
class RankOrder {
 public:
  RankOrder(const Pipeline& p, int rank) : ranks_(p.ranks), rank_(rank), micro_batches_(p.micro_batches) {
    warm_up();
    steady();
    cool_down();
  }
  std::vector<Task> take() { return std::move(tasks_); }

 private:
  void add(int chunk, PipelinePhase phase, int& counter) {
    if (counter < micro_batches_) tasks_.push_back({chunk, counter, phase});
    ++counter;
  }
  void forward(int chunk) { add(chunk, PipelinePhase::forward, forwards_[chunk]); }
  void input(int chunk) { add(chunk, PipelinePhase::backward_input, inputs_[chunk]); }
  void weight(int chunk) { add(chunk, PipelinePhase::backward_weight, weights_[chunk]); }
  void backward(int chunk) { input(chunk), weight(chunk); }

  void warm_up() {
    for (int i = 0; i < 2 * (ranks_ - rank_) - 1; ++i) forward(0);
    for (int i = 0; i < rank_; ++i) forward(1), forward(0);
    for (int i = 0; i < ranks_ - rank_; ++i) forward(1), backward(1);
  }
  void steady() {
    const int all = std::max(2 * ranks_ - 1, micro_batches_);
    while (forwards_[1] < forwards_[0] || forwards_[0] < all) {
      if (forwards_[0] < all) forward(0);
      backward(0);
      forward(1), backward(1);
    }
  }
  void cool_down() {
    for (int i = 0; i < rank_; ++i) input(0), input(1);
    for (int i = 0; i < ranks_ - rank_; ++i) input(0), weight(0);
    while (weights_[1] < inputs_[1]) weight(1);
    while (weights_[0] < inputs_[0]) weight(0);
  }

  int ranks_, rank_, micro_batches_;
  int forwards_[2] = {}, inputs_[2] = {}, weights_[2] = {};
  std::vector<Task> tasks_;
};

// One rank's tasks in DualPipe's order, made for at least the 2 n micro-batches that fill n ranks folded into a V. Its
// eight parts are named after the tasks that they repeat; a 1 is of the second chunk.
class DualOrder {
 public:
  DualOrder(const Pipeline& p, int rank) : after_(p.ranks - 1 - rank), rank_(rank), micro_batches_(p.micro_batches) {
    const int all = std::max(2 * p.ranks, micro_batches_);
    for (int i = 0; i < 2 * after_; ++i) forward(0);
    for (int i = 0; i <= rank_; ++i) forward(0), forward(1);
    for (int i = 0; i < after_; ++i) backward(1, true), weight(), forward(1);
    for (int i = 0; i < all - 2 * p.ranks + rank_ + 1; ++i) {
      // The last rank runs its first two one after the other, which the ranks before it wait less for.
      if (i == 0 && after_ == 0) forward(0), backward(1, false);
      else pair(0, 1);
      pair(1, 0);
    }
    for (int i = 0; i < after_; ++i) backward(1, false), pair(1, 0);
    end();
  }
  std::vector<Task> take() { return std::move(tasks_); }

 private:
  bool exists(int micro_batch) const { return micro_batch < micro_batches_; }
  void forward(int chunk, bool with_next = false) {
    const int own = forwards_[chunk]++;
    if (exists(own)) tasks_.push_back({chunk, own, PipelinePhase::forward, with_next});
  }
  // `late`: gradients of weights wait in line.
  void backward(int chunk, bool late) {
    const int own = backwards_[chunk]++;
    if (late) waiting_.emplace_back(chunk, own);
    if (exists(own)) tasks_.push_back({chunk, own, late ? PipelinePhase::backward_input : PipelinePhase::backward});
  }
  void pair(int forward_chunk, int backward_chunk) {
    forward(forward_chunk, exists(forwards_[forward_chunk]) && exists(backwards_[backward_chunk]));
    backward(backward_chunk, false);
  }
  void weight() {
    const auto [chunk, own] = waiting_.front();
    waiting_.pop_front();
    if (exists(own)) tasks_.push_back({chunk, own, PipelinePhase::backward_weight});
  }
  // No forwards are left: from the middle of these on, gradients of weights fill the gaps.
  void end() {
    bool late = false;
    for (int i = 0; i <= rank_; ++i) {
      const bool middle = i == (rank_ + 1) / 2;
      late = late || (middle && rank_ % 2 == 1);
      backward(1, late);
      late = late || middle;
      backward(0, late);
    }
    for (int i = 0; i < after_; ++i) weight(), backward(0, true);
    while (!waiting_.empty()) weight();
  }

  int after_, rank_, micro_batches_;
  int forwards_[2] = {}, backwards_[2] = {};
  std::deque<std::pair<int, int>> waiting_;
  std::vector<Task> tasks_;
};

std::vector<Task> order_of(const Pipeline& p, int rank) {
  return p.schedule == PipelineSchedule::dual_pipe_v ? DualOrder(p, rank).take() : RankOrder(p, rank).take();
}

// Every task begins when its rank is free and what it reads has arrived.
class VMachine {
 public:
  VMachine(const Pipeline& p, bool with_tasks) : p_(p), with_tasks_(with_tasks) {
    const auto stages = 2 * static_cast<std::size_t>(p.ranks), all = stages * static_cast<std::size_t>(p.micro_batches);
    forward_end_.assign(all, kNotYet), input_end_.assign(all, kNotYet);
    for (int rank = 0; rank < p.ranks; ++rank) orders_.push_back(order_of(p, rank));
    next_.assign(orders_.size(), 0), free_.assign(orders_.size(), 0), saved_.assign(orders_.size(), 0);
    done_.resize(orders_.size());
  }

  PipelineTimeline run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < p_.ranks; ++rank)
        while (run_next(rank)) moved = true;
    }
    PipelineTimeline t;
    t.total = seconds(*std::max_element(free_.begin(), free_.end()));
    for (int rank = 0; rank < p_.ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      t.saved.push_back(seconds(saved_[r]));
      t.busy.push_back(work_of(rank) - t.saved.back()), t.kept.push_back(most_kept(orders_[r]));
      t.tasks.insert(t.tasks.end(), done_[r].begin(), done_[r].end());
    }
    if (p_.ranks == 1) t.total = t.busy[0];  // without the rounding of a long sum
    return t;
  }

 private:
  std::size_t at(int stage, int micro_batch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(p_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }
  const StageTimes& times(int stage) const { return p_.stages[static_cast<std::size_t>(stage)]; }
  int stage(int rank, int chunk) const { return stage_at(p_.schedule, p_.ranks, rank, chunk); }
  // What another stage sent; the lower end of the V hands over within a rank.
  double arrival(double end, int from, int rank) const {
    return end + (rank_of_stage(p_.schedule, p_.ranks, from) == rank ? 0 : p_.send.base());
  }
  double ready(const Task& task, int rank) const {
    const int own = stage(rank, task.chunk), last = 2 * p_.ranks - 1;
    switch (task.phase) {
      case PipelinePhase::forward:
        return own == 0 ? 0 : arrival(forward_end_[at(own - 1, task.micro_batch)], own - 1, rank);
      case PipelinePhase::backward_weight: return input_end_[at(own, task.micro_batch)];
      default: break;
    }
    const double kept = forward_end_[at(own, task.micro_batch)];
    if (own == last) return kept;
    return std::max(kept, arrival(input_end_[at(own + 1, task.micro_batch)], own + 1, rank));
  }

  // False where the rank has nothing left, or waits for what has no time yet.
  bool run_next(int rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (next_[r] == orders_[r].size()) return false;
    const Task& task = orders_[r][next_[r]];
    if (task.with_next) return run_pair(rank, task, orders_[r][next_[r] + 1]);
    const double begin = std::max(free_[r], ready(task, rank));
    if (begin == kNotYet) return false;
    free_[r] = begin + duration(task, rank).base();
    finish(task, rank, begin, free_[r]);
    return true;
  }
  // Both end when the longer way of the two does. They are drawn one after the other, by what each takes alone.
  bool run_pair(int rank, const Task& forward, const Task& backward) {
    const auto r = static_cast<std::size_t>(rank);
    const double begin = std::max({free_[r], ready(forward, rank), ready(backward, rank)});
    if (begin == kNotYet) return false;
    const double first = duration(forward, rank).base(), alone = first + duration(backward, rank).base();
    const double both =
        paired(times(stage(rank, forward.chunk)), times(stage(rank, backward.chunk)), p_.exchange_share).base();
    free_[r] = begin + both, saved_[r] += alone - both;
    const double middle = alone > 0 ? begin + both * (first / alone) : begin;
    finish(forward, rank, begin, middle), finish(backward, rank, middle, free_[r]);
    forward_end_[at(stage(rank, forward.chunk), forward.micro_batch)] = free_[r];
    return true;
  }
  Seconds duration(const Task& task, int rank) const {
    const StageTimes& t = times(stage(rank, task.chunk));
    switch (task.phase) {
      case PipelinePhase::forward: return t.forward;
      case PipelinePhase::backward: return t.backward_input + t.backward_weight;
      case PipelinePhase::backward_input: return t.backward_input;
      case PipelinePhase::backward_weight: break;
    }
    return t.backward_weight;
  }
  void finish(const Task& task, int rank, double begin, double end) {
    const auto r = static_cast<std::size_t>(rank);
    const std::size_t own = at(stage(rank, task.chunk), task.micro_batch);
    if (task.phase == PipelinePhase::forward) forward_end_[own] = end;
    else if (task.phase != PipelinePhase::backward_weight) input_end_[own] = end;
    if (with_tasks_) done_[r].push_back({rank, task.chunk, task.micro_batch, task.phase, seconds(begin), seconds(end)});
    ++next_[r];
  }

  Seconds work_of(int rank) const {
    Seconds busy;
    for (const int chunk : {0, 1}) {
      const StageTimes& t = times(stage(rank, chunk));
      busy += t.forward + (t.backward_input + t.backward_weight);
    }
    return busy * p_.micro_batches;
  }
  static double most_kept(const std::vector<Task>& order) {
    double alive = 0, most = 0;
    for (const Task& task : order) {
      if (task.phase == PipelinePhase::forward) most = std::max(most, ++alive);
      else if (task.phase != PipelinePhase::backward_input) --alive;
    }
    return most;
  }

  const Pipeline& p_;
  bool with_tasks_;
  std::vector<double> forward_end_, input_end_;  // by virtual stage and micro-batch
  std::vector<std::vector<Task>> orders_;
  std::vector<std::size_t> next_;
  std::vector<double> free_, saved_;
  std::vector<std::vector<PipelineTask>> done_;
};

}  // namespace

PipelineTimeline simulate_v(const Pipeline& pipeline, bool with_tasks) { return VMachine(pipeline, with_tasks).run(); }

}  // namespace tilecast
