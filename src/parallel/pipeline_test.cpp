#include "parallel/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace tilecast {
namespace {

using Schedule = PipelineSchedule;
using Phase = PipelinePhase;
constexpr std::array kSchedules = {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble,
                                   Schedule::zero_bubble_v};

int phases_of(Schedule s) { return s == Schedule::zero_bubble || s == Schedule::zero_bubble_v ? 3 : 2; }

Pipeline equal(Schedule schedule, int ranks, int micro_batches, int chunks = 1, double f = 1, double b = 1,
               double w = 1) {
  Pipeline p{schedule, ranks, chunks, micro_batches, {}, {}};
  p.stages.assign(static_cast<std::size_t>(ranks * chunks), {seconds(f), seconds(b), seconds(w)});
  return p;
}

// Stages alike, in pairs or each its own; sends free, small or large.
Pipeline random_pipeline(std::mt19937& random, int most_micro_batches) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const auto time = [&] { return seconds(std::uniform_real_distribution<double>(0.2, 2)(random)); };
  Pipeline p;
  p.schedule = kSchedules[static_cast<std::size_t>(pick(0, 4))];
  p.ranks = pick(1, 9);
  p.micro_batches = pick(1, most_micro_batches);
  if (p.schedule == Schedule::interleaved) {
    p.chunks = pick(1, 4);
    p.micro_batches = p.ranks * pick(1, std::max(1, most_micro_batches / p.ranks));
  }
  if (p.schedule == Schedule::zero_bubble_v) p.chunks = 2;
  const int evenness = pick(0, 2);
  StageTimes all{time(), time(), time()};
  for (int i = 0; i < p.ranks * p.chunks; ++i) {
    if (evenness == 2 || (evenness == 1 && i % 2 == 0)) all = {time(), time(), time()};
    p.stages.push_back(all);
  }
  p.send = std::array{Seconds{}, seconds(0.01), time()}[static_cast<std::size_t>(pick(0, 2))];
  return p;
}

std::string text(const Pipeline& p) {
  return fmt::format("{} ranks {} chunks {} micro-batches {} send {}", name_of(p.schedule), p.ranks, p.chunks,
                     p.micro_batches, p.send.base());
}

using Key = std::tuple<int, int, bool>;  // virtual stage, micro-batch, forward
std::map<Key, const PipelineTask*> by_key(const Pipeline& p, const PipelineTimeline& t) {
  std::map<Key, const PipelineTask*> map;
  for (const PipelineTask& task : t.tasks) {
    if (task.phase == Phase::backward_weight) continue;
    const Key key{stage_at(p.schedule, p.ranks, task.rank, task.chunk), task.micro_batch, task.phase == Phase::forward};
    EXPECT_TRUE(map.emplace(key, &task).second);
  }
  return map;
}

// When what a task reads is there.
double ready(const Pipeline& p, const std::map<Key, const PipelineTask*>& tasks, const PipelineTask& t) {
  const int stage = stage_at(p.schedule, p.ranks, t.rank, t.chunk);
  const auto end = [&](int at, bool forward) { return tasks.at({at, t.micro_batch, forward})->end.base(); };
  const auto sent = [&](int at, bool forward) {
    return end(at, forward) + (rank_of_stage(p.schedule, p.ranks, at) == t.rank ? 0 : p.send.base());
  };
  switch (t.phase) {
    case Phase::forward: return stage == 0 ? 0 : sent(stage - 1, true);
    case Phase::backward_weight: return end(stage, false);
    default: return std::max(end(stage, true), stage + 1 == p.ranks * p.chunks ? 0 : sent(stage + 1, false));
  }
}

Seconds length(const Pipeline& p, const PipelineTask& t) {
  const StageTimes& s = p.stages[static_cast<std::size_t>(stage_at(p.schedule, p.ranks, t.rank, t.chunk))];
  switch (t.phase) {
    case Phase::forward: return s.forward;
    case Phase::backward: return s.backward_input + s.backward_weight;
    case Phase::backward_input: return s.backward_input;
    default: return s.backward_weight;
  }
}

TEST(Pipeline, TasksRunOnceAsSoonAsTheyCan) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const Pipeline p = random_pipeline(random, 24);
    SCOPED_TRACE(text(p));
    ASSERT_TRUE(check(p));
    const PipelineTimeline t = simulate(p);
    ASSERT_EQ(t.tasks.size(), static_cast<std::size_t>(p.ranks * p.chunks * p.micro_batches * phases_of(p.schedule)));
    const auto tasks = by_key(p, t);
    std::vector<double> busy(static_cast<std::size_t>(p.ranks), 0);
    double last = 0;
    for (std::size_t i = 0; i < t.tasks.size(); ++i) {
      const PipelineTask& task = t.tasks[i];
      const bool first = i == 0 || t.tasks[i - 1].rank != task.rank;
      ASSERT_GE(task.rank, i == 0 ? 0 : t.tasks[i - 1].rank);
      const double rank_free = first ? 0 : t.tasks[i - 1].end.base();
      ASSERT_DOUBLE_EQ(task.begin.base(), std::max(rank_free, ready(p, tasks, task))) << i;
      ASSERT_DOUBLE_EQ(task.end.base(), (task.begin + length(p, task)).base());
      busy[static_cast<std::size_t>(task.rank)] += length(p, task).base();
      last = std::max(last, task.end.base());
    }
    EXPECT_NEAR(t.total.base(), last, 1e-12 * last);
    for (std::size_t r = 0; r < busy.size(); ++r) EXPECT_NEAR(t.busy[r].base(), busy[r], 1e-12 * busy[r]);
  }
}

TEST(Pipeline, KeptIsTheMostAliveAtOnce) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const Pipeline p = random_pipeline(random, 24);
    SCOPED_TRACE(text(p));
    const PipelineTimeline t = simulate(p);
    std::vector<double> alive(t.kept.size(), 0), most(t.kept.size(), 0);
    for (const PipelineTask& task : t.tasks) {
      const auto r = static_cast<std::size_t>(task.rank);
      if (task.phase == Phase::forward) most[r] = std::max(most[r], ++alive[r]);
      else if (task.phase != Phase::backward_input) --alive[r];
    }
    EXPECT_EQ(t.kept, most);
  }
}

TEST(Pipeline, SummaryIsTheSimulation) {
  std::mt19937 random(3);
  for (int round = 0; round < 600; ++round) {
    const Pipeline p = random_pipeline(random, round % 3 == 0 ? 700 : 60);
    SCOPED_TRACE(text(p));
    const PipelineTimeline whole = simulate(p), summary = summarise(p);
    EXPECT_NEAR(summary.total.base(), whole.total.base(), 1e-9 * whole.total.base());
    EXPECT_EQ(summary.busy, whole.busy);
    EXPECT_EQ(summary.kept, whole.kept);
    EXPECT_NEAR(summary.bubble(), whole.bubble(), 1e-9);
    EXPECT_TRUE(summary.tasks.empty());
  }
}

TEST(Pipeline, EqualStagesOfOneChunk) {
  // Narayanan et al. 2021, section 2.2: (p-1) of p-1+m slots are empty, whether backward waits for all forwards or not.
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b})
    for (const int ranks : {1, 2, 4, 8})
      for (const int m : {1, 3, 8, 64}) {
        const PipelineTimeline t = simulate(equal(schedule, ranks, m, 1, 1, 0.8, 1.3));
        EXPECT_NEAR(t.total.base(), (m + ranks - 1) * 3.1, 1e-9);
        EXPECT_NEAR(t.bubble(), (ranks - 1.0) / (m + ranks - 1), 1e-12);
        for (int r = 0; r < ranks; ++r)
          EXPECT_EQ(t.kept[static_cast<std::size_t>(r)], schedule == Schedule::gpipe ? m : std::min(m, ranks - r));
      }
}

TEST(Pipeline, ChunksShortenTheBubble) {
  // The same section: with v chunks, each 1/v of a rank's work, the idle time is 1/v of it.
  for (const int ranks : {2, 4, 8})
    for (const int chunks : {1, 2, 4})
      for (const int groups : {2, 5}) {
        const int m = groups * ranks;
        const PipelineTimeline t =
            simulate(equal(Schedule::interleaved, ranks, m, chunks, 1.0 / chunks, 2.0 / chunks, 0));
        EXPECT_NEAR(t.total.base(), 3.0 * m + 3.0 * (ranks - 1) / chunks, 1e-9) << ranks << " " << chunks << " " << m;
        // Korthikanti et al. 2022, section 4.2.3: the first rank keeps 1 + (p-1)/(p v) times the layers of its 1F1B.
        EXPECT_DOUBLE_EQ(t.kept[0] / chunks, ranks * (1 + (ranks - 1.0) / (ranks * chunks)));
      }
}

// Megatron's two functions of an iteration's number, and its loops.
TEST(Pipeline, InterleavedTakesMegatronsOrder) {
  for (const int ranks : {1, 2, 3, 4})
    for (const int chunks : {1, 2, 3})
      for (const int groups : {1, 2, 4}) {
        const int m = groups * ranks, n = m * chunks;
        const PipelineTimeline t = simulate(equal(Schedule::interleaved, ranks, m, chunks));
        std::size_t at = 0;
        const auto expect = [&](int rank, int k, bool forward) {
          const int chunk = k % (ranks * chunks) / ranks;
          const PipelineTask& task = t.tasks[at++];
          EXPECT_EQ(task.rank, rank);
          EXPECT_EQ(task.phase, forward ? Phase::forward : Phase::backward);
          EXPECT_EQ(task.chunk, forward ? chunk : chunks - 1 - chunk);
          EXPECT_EQ(task.micro_batch, k / (ranks * chunks) * ranks + k % ranks);
        };
        for (int rank = 0; rank < ranks; ++rank) {
          const int warm_up = std::min(n, 2 * (ranks - rank - 1) + (chunks - 1) * ranks);
          for (int k = 0; k < warm_up; ++k) expect(rank, k, true);
          for (int k = 0; k < n - warm_up; ++k) expect(rank, k + warm_up, true), expect(rank, k, false);
          for (int k = n - warm_up; k < n; ++k) expect(rank, k, false);
        }
      }
}

TEST(Pipeline, ZeroBubbleLeavesAThird) {
  // Table 1 of Qi et al.: (p-1)(F + B - W) idle, where 1F1B has (p-1)(F + B + W); the same p micro-batches kept.
  for (const int ranks : {2, 4, 8})
    for (const int m : {16, 40})
      for (const double w : {1.0, 0.8}) {
        const PipelineTimeline t = simulate(equal(Schedule::zero_bubble, ranks, m, 1, 1, 1, w));
        EXPECT_NEAR(t.total.base(), m * (2 + w) + (ranks - 1) * (2 - w), 1e-9) << ranks << " " << m << " " << w;
        for (const double kept : t.kept) EXPECT_EQ(kept, ranks);
      }
  // By hand, two ranks: rank 1 is busy from 1 on, F B F B W F B W W.
  const PipelineTimeline t = simulate(equal(Schedule::zero_bubble, 2, 3));
  EXPECT_EQ(t.total, seconds(10));
  std::string order;
  for (const PipelineTask& task : t.tasks)
    if (task.rank == 1)
      order += (task.phase == Phase::forward          ? 'F'
                : task.phase == Phase::backward_input ? 'B'
                                                      : 'W') +
               std::to_string(task.micro_batch);
  EXPECT_EQ(order, "F0B0F1B1W0F2B2W1W2");
}

TEST(Pipeline, AVLeavesNoBubbleWhereTasksTakeAlike) {
  // Qi et al. 2024, section 4: with F = B = W = 1 of a chunk, rank i idles i before its first task and the whole takes
  // 6 m + (p - 1): only the ends are ragged. Every rank keeps what the first of 1F1B keeps: p micro-batches of 2
  // chunks.
  for (const int ranks : {1, 2, 4, 8})
    for (const int m : {2 * ranks, 5 * ranks, 64}) {
      const PipelineTimeline t = simulate(equal(Schedule::zero_bubble_v, ranks, m, 2));
      EXPECT_NEAR(t.total.base(), 6.0 * m + ranks - 1, 1e-9) << ranks << " " << m;
      for (const double kept : t.kept) EXPECT_LE(kept, 2 * ranks) << ranks << " " << m;
      const double h1 = simulate(equal(Schedule::zero_bubble, ranks, m, 1, 2, 2, 2)).total.base();
      EXPECT_LE(t.total.base(), h1 + 1e-9);
    }
}

TEST(Pipeline, AVRunsAsPyTorchOrdersIt) {
  // By hand from PyTorch 2.11's ScheduleZBVZeroBubble, two ranks and three micro-batches: letters as there (I gradients
  // of inputs, W of weights), small ones of the second chunk.
  const PipelineTimeline t = simulate(equal(Schedule::zero_bubble_v, 2, 3, 2));
  std::array<std::string, 2> orders;
  for (const PipelineTask& task : t.tasks) {
    const char letter = task.phase == Phase::forward ? 'F' : task.phase == Phase::backward_input ? 'I' : 'W';
    orders[static_cast<std::size_t>(task.rank)] +=
        std::string(1, static_cast<char>(task.chunk == 0 ? letter : letter - 'A' + 'a')) +
        std::to_string(task.micro_batch);
  }
  EXPECT_EQ(orders[0], "F0F1F2f0i0w0f1i1w1I0W0f2i2w2I1W1I2W2");
  EXPECT_EQ(orders[1], "F0f0F1f1i0w0F2I0W0f2i1w1I1i2I2W1w2W2");
}

TEST(Pipeline, AVHandsOverWithinTheLastRank) {
  EXPECT_EQ(stage_at(Schedule::zero_bubble_v, 4, 0, 1), 7);
  EXPECT_EQ(stage_at(Schedule::zero_bubble_v, 4, 3, 1), 4);
  EXPECT_EQ(stage_at(Schedule::interleaved, 4, 3, 1), 7);
  for (const Schedule schedule : {Schedule::interleaved, Schedule::zero_bubble_v})
    for (int stage = 0; stage < 8; ++stage)
      EXPECT_EQ(stage_at(schedule, 4, rank_of_stage(schedule, 4, stage), stage / 4), stage);
  // One micro-batch: eight stages there and back with six sends each way, not seven. Two gradients of weights are
  // waited for: of the second chunk on the last rank, which runs them before it hands over, and of the first stage at
  // the end.
  Pipeline p = equal(Schedule::zero_bubble_v, 4, 1, 2);
  p.send = seconds(10);
  EXPECT_EQ(simulate(p).total, seconds(8 + 8 + 12 * 10 + 2));
}

TEST(Pipeline, DualPipeRunsInDeepSeeksOrder) {
  // By hand from github.com/deepseek-ai/DualPipe, dualpipe.py with four ranks and eight micro-batches, of which rank 0
  // and 1 see four from each side: B a whole backward, I and W its halves, small letters of the second chunk, + a pair.
  const PipelineTimeline t = simulate(equal(Schedule::dual_pipe_v, 2, 4, 2));
  std::array<std::string, 2> orders;
  for (const PipelineTask& task : t.tasks) {
    const char letter = task.phase == Phase::forward          ? 'F'
                        : task.phase == Phase::backward       ? 'B'
                        : task.phase == Phase::backward_input ? 'I'
                                                              : 'W';
    orders[static_cast<std::size_t>(task.rank)] +=
        std::string(1, static_cast<char>(task.chunk == 0 ? letter : letter - 'A' + 'a')) +
        std::to_string(task.micro_batch);
  }
  EXPECT_EQ(orders[0], "F0F1F2f0i0w0f1F3b1f2B0b2f3B1b3I2W2I3W3");
  EXPECT_EQ(orders[1], "F0f0F1f1F2b0f2B0F3b1f3B1b2B2i3I3w3W3");
}

TEST(Pipeline, DualPipesBubbleIsAsPublished) {
  // The repository's table: (n - 1)(F&B + B - 3 W) on the 2 n ranks that n are folded from, B both halves of a
  // backward. No time is hidden here, so F&B = F + B.
  for (const int ranks : {1, 2, 4, 8})
    for (const int m : {2 * ranks, 3 * ranks, 40}) {
      const double f = 1, b = 2, w = 1;
      const PipelineTimeline t = simulate(equal(Schedule::dual_pipe_v, ranks, m, 2, f, b - w, w));
      EXPECT_NEAR(t.total.base(), m * 2 * (f + b) + (ranks - 1) * (f + b + b - 3 * w), 1e-9) << ranks << " " << m;
      for (const double kept : t.kept) EXPECT_LE(kept, 2 * ranks + 1) << ranks << " " << m;
      for (const Seconds saved : t.saved) EXPECT_EQ(saved, seconds(0));
    }
}

TEST(Pipeline, PairsHideExchangesBehindEachOther) {
  // F 2 with 1 of exchange, B 4 with 2: alone 6; together 3 of computing and 3 of exchange take 3, with a tenth of the
  // card held by it 3.3.
  const StageTimes stage{seconds(2), seconds(3), seconds(1), seconds(1), seconds(2)};
  EXPECT_EQ(paired(stage, stage, 0), seconds(3));
  EXPECT_DOUBLE_EQ(paired(stage, stage, 0.1).base(), 3.3);
  EXPECT_EQ(paired({seconds(2), seconds(3), seconds(1)}, {seconds(2), seconds(3), seconds(1)}, 0.1), seconds(6));
  Pipeline p = equal(Schedule::dual_pipe_v, 1, 8, 2);
  p.stages.assign(2, stage);
  // One rank: all but the first two tasks of the main part, and those of the ends, are pairs.
  const PipelineTimeline t = simulate(p);
  double pairs = 0;
  for (std::size_t i = 1; i < t.tasks.size(); ++i)
    pairs += t.tasks[i].end - t.tasks[i - 1].begin < seconds(6 - 1e-9) ? 1 : 0;
  EXPECT_GT(t.saved[0], seconds(0));
  EXPECT_NEAR((t.busy[0] + t.saved[0]).base(), 8 * 2 * 6, 1e-9);
  EXPECT_GE(pairs, t.saved[0].base() / 3);
  EXPECT_EQ(summarise(p).saved, t.saved);
}

TEST(Pipeline, DualPipeRunsEveryTaskOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Pipeline p = random_pipeline(random, 30);
    p.schedule = Schedule::dual_pipe_v, p.chunks = 2, p.exchange_share = 0.1;
    p.stages.resize(static_cast<std::size_t>(2 * p.ranks), p.stages.front());
    for (StageTimes& s : p.stages) s.forward_exchange = s.forward * 0.3, s.backward_exchange = s.backward_input * 0.5;
    SCOPED_TRACE(text(p));
    ASSERT_TRUE(check(p));
    const PipelineTimeline t = simulate(p);
    std::map<std::tuple<int, int, bool>, int> seen;  // halves of a backward count one each
    for (const PipelineTask& task : t.tasks)
      seen[{task.rank * 2 + task.chunk, task.micro_batch, task.phase == Phase::forward}] +=
          task.phase == Phase::forward || task.phase == Phase::backward ? 2 : 1;
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(2 * 2 * p.ranks * p.micro_batches));
    for (const auto& [key, times] : seen) EXPECT_EQ(times, 2);
    for (const Seconds busy : t.busy) EXPECT_GE(t.total, busy * (1 - 1e-12));
    Pipeline bare = p;  // with nothing to hide, nothing is gained
    for (StageTimes& s : bare.stages) s.forward_exchange = s.backward_exchange = seconds(0);
    EXPECT_LE(t.total, simulate(bare).total * (1 + 1e-12));
    const PipelineTimeline summary = summarise(p);
    EXPECT_EQ(summary.total, t.total);
    EXPECT_EQ(summary.kept, t.kept);
  }
}

TEST(Pipeline, UnevenStagesAndSends) {
  // Two ranks, two micro-batches, by hand: the second rank takes 4 + 6, a send 1.
  //   rank 0: F0 0-1, F1 1-2                    B0 13-15            B1 23-25
  //   rank 1:          F0 2-6, B0 6-12, F1 12-16, B1 16-22
  Pipeline p{Schedule::one_f_one_b,
             2,
             1,
             2,
             {{seconds(1), seconds(1), seconds(1)}, {seconds(4), seconds(3), seconds(3)}},
             seconds(1)};
  const PipelineTimeline t = simulate(p);
  ASSERT_EQ(t.tasks.size(), 8u);
  const std::vector<double> ends = {1, 2, 15, 25, 6, 12, 16, 22};
  for (std::size_t i = 0; i < ends.size(); ++i) EXPECT_EQ(t.tasks[i].end.base(), ends[i]) << i;
  EXPECT_EQ(t.total, seconds(25));
  EXPECT_NEAR(t.bubble(), 1 - 26.0 / 50, 1e-12);
}

TEST(Pipeline, OneRankIsTheSum) {
  for (const Schedule schedule : kSchedules) {
    const int chunks = schedule == Schedule::zero_bubble_v ? 2 : 1;
    Pipeline p = equal(schedule, 1, 7, chunks, 0.1, 0.2, 0.3);
    p.send = seconds(5);
    EXPECT_EQ(simulate(p).total, seconds(0.1 + (0.2 + 0.3)) * chunks * 7);
    EXPECT_EQ(summarise(p).total, simulate(p).total);
    EXPECT_EQ(summarise(p).bubble(), 0);
  }
}

TEST(Pipeline, NothingGetsFasterByASlowerStage) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    Pipeline p = random_pipeline(random, 40);
    SCOPED_TRACE(text(p));
    const Seconds before = summarise(p).total;
    const auto stage = std::uniform_int_distribution<std::size_t>(0, p.stages.size() - 1)(random);
    p.stages[stage].backward_input *= 1.3;
    const Seconds slower = summarise(p).total;
    EXPECT_GE(slower, before * (1 - 1e-12));
    p.send = p.send * 2;
    EXPECT_GE(summarise(p).total, slower * (1 - 1e-12));
    for (const Seconds busy : summarise(p).busy) EXPECT_GE(slower, busy * (1 - 1e-12));
    p.micro_batches += p.ranks;
    EXPECT_GT(summarise(p).total, slower);
  }
}

TEST(Pipeline, RefusesWhatCannotRun) {
  const auto line = [](const Pipeline& p) { return check(p) ? "" : check(p).error().line(); };
  EXPECT_EQ(line(equal(Schedule::interleaved, 4, 10, 2)),
            "micro-batches: interleaved takes a multiple of the 4 ranks, not 10 (8 or 12, or the schedule 1f1b)");
  EXPECT_EQ(line(equal(Schedule::interleaved, 4, 3, 2)),
            "micro-batches: interleaved takes a multiple of the 4 ranks, not 3 (4, or the schedule 1f1b)");
  EXPECT_EQ(line(equal(Schedule::zero_bubble, 4, 8, 2)),
            "chunks: zero-bubble has one chunk a rank, not 2 (choose the schedule interleaved, or one chunk)");
  EXPECT_EQ(line(equal(Schedule::gpipe, 4, 0)), "micro-batches: must be 1 to 1000000, not 0");
  Pipeline p = equal(Schedule::one_f_one_b, 4, 8);
  p.stages.pop_back();
  EXPECT_EQ(line(p), "stages: 3 given, 4 ranks of 1 chunks have 4");
  p.stages.push_back({seconds(-1), {}, {}});
  EXPECT_EQ(line(p), "stages: a time is negative or not a number");
  p.ranks = 0;
  EXPECT_EQ(line(p), "pipeline ranks: must be 1 or more, not 0");
}

TEST(Pipeline, SchedulesHaveNames) {
  for (const Schedule schedule : kSchedules) EXPECT_EQ(*pipeline_schedule_from(name_of(schedule)), schedule);
  EXPECT_EQ(pipeline_schedule_from("1f2b").error().line(),
            "no pipeline schedule is called '1f2b' (one of gpipe, 1f1b, interleaved, zero-bubble, zero-bubble-v, "
            "dualpipe-v)");
}

}  // namespace
}  // namespace tilecast
