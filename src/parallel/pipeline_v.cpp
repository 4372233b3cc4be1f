#include "parallel/pipeline_v.h"

#include <algorithm>
#include <limits>

namespace tilecast {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

struct Task {
  int chunk, micro_batch;
  PipelinePhase phase;
};

// One rank's tasks in order. Counters say how many of each kind, by chunk, are in the list; it is made for at least the
// 2 n - 1 micro-batches that fill n ranks, and those that do not exist are left out.
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

// Every task begins when its rank is free and what it reads has arrived.
class VMachine {
 public:
  VMachine(const Pipeline& p, bool with_tasks) : p_(p), with_tasks_(with_tasks) {
    const auto stages = 2 * static_cast<std::size_t>(p.ranks), all = stages * static_cast<std::size_t>(p.micro_batches);
    forward_end_.assign(all, kNotYet), input_end_.assign(all, kNotYet);
    for (int rank = 0; rank < p.ranks; ++rank) orders_.push_back(RankOrder(p, rank).take());
    next_.assign(orders_.size(), 0), free_.assign(orders_.size(), 0);
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
      t.busy.push_back(work_of(rank)), t.kept.push_back(most_kept(orders_[r]));
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
    const double begin = std::max(free_[r], ready(task, rank));
    if (begin == kNotYet) return false;
    const int own = stage(rank, task.chunk);
    const StageTimes& t = times(own);
    const bool forward = task.phase == PipelinePhase::forward, input = task.phase == PipelinePhase::backward_input;
    free_[r] = begin + (forward ? t.forward : input ? t.backward_input : t.backward_weight).base();
    if (forward) forward_end_[at(own, task.micro_batch)] = free_[r];
    if (input) input_end_[at(own, task.micro_batch)] = free_[r];
    if (with_tasks_)
      done_[r].push_back({rank, task.chunk, task.micro_batch, task.phase, seconds(begin), seconds(free_[r])});
    ++next_[r];
    return true;
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
      else if (task.phase == PipelinePhase::backward_weight) --alive;
    }
    return most;
  }

  const Pipeline& p_;
  bool with_tasks_;
  std::vector<double> forward_end_, input_end_;  // by virtual stage and micro-batch
  std::vector<std::vector<Task>> orders_;
  std::vector<std::size_t> next_;
  std::vector<double> free_;
  std::vector<std::vector<PipelineTask>> done_;
};

}  // namespace

PipelineTimeline simulate_v(const Pipeline& pipeline, bool with_tasks) { return VMachine(pipeline, with_tasks).run(); }

}  // namespace tilecast
