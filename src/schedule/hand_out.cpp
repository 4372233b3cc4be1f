#include "schedule/hand_out.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tilecast {
namespace {

// SMs that are free at the same moment, as one entry. What they ran is a chain of records, so an entry stays small and
// only the busiest one's history is ever read.
struct Bin {
  double finish = 0;
  Count sms = 0;
  std::int32_t last = -1;
};
struct Record {
  std::int32_t before;
  std::uint32_t batch;
  Count runs;
};

bool later(const Bin& a, const Bin& b) { return a.finish > b.finish; }

class Bins {
 public:
  explicit Bins(Count sms) : sms_(sms), heap_{{0, sms, -1}} {}

  void deal(std::uint32_t batch, Count count, double weight) {
    if (count > 2 * sms_) count -= level(batch, count, weight);
    while (count > 0) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      Bin& first = heap_.back();
      const Count take = std::min(count, first.sms);
      Bin rest = first;
      run(first, batch, 1, weight);
      first.sms = take;
      std::push_heap(heap_.begin(), heap_.end(), later);
      if (rest.sms -= take; rest.sms > 0) {
        heap_.push_back(rest);
        std::push_heap(heap_.begin(), heap_.end(), later);
      }
      count -= take;
    }
  }

  Busiest busiest(std::size_t batches) const {
    const Bin& most =
        *std::max_element(heap_.begin(), heap_.end(), [](auto& a, auto& b) { return a.finish < b.finish; });
    Busiest result{std::vector<double>(batches, 0.0), most.finish};
    for (std::int32_t r = most.last; r >= 0; r = records_[static_cast<std::size_t>(r)].before) {
      const Record& record = records_[static_cast<std::size_t>(r)];
      result.runs[record.batch] += static_cast<double>(record.runs);
    }
    return result;
  }

 private:
  void run(Bin& bin, std::uint32_t batch, Count runs, double weight) {
    records_.push_back({bin.last, batch, runs});
    bin.last = static_cast<std::int32_t>(records_.size()) - 1;
    bin.finish += weight * static_cast<double>(runs);
  }

  // Assigns many equal tasks at once and returns how many. The k-th task on a bin starts at finish + k * weight; greedy
  // assignment takes the earliest starts, so all starts before a common moment are assigned. The rest is left to
  // `deal`.
  Count level(std::uint32_t batch, Count count, double weight) {
    double top = 0;
    for (const Bin& bin : heap_) top = std::max(top, bin.finish);
    const auto runs_before = [&](const Bin& bin, double moment) {
      return weight > 0 && moment > bin.finish ? static_cast<Count>(std::floor((moment - bin.finish) / weight))
                                               : Count{0};
    };
    const auto dealt_before = [&](double moment) {
      Count dealt = 0;
      for (const Bin& bin : heap_) dealt += runs_before(bin, moment) * bin.sms;
      return dealt;
    };
    double moment = top;
    if (dealt_before(top) > count) {  // too few tasks to reach the fullest SM: the highest moment they do reach
      double low = 0;
      for (int i = 0; i < 50; ++i) {
        const double middle = (low + moment) / 2;
        (dealt_before(middle) > count ? moment : low) = middle;
      }
      moment = low;
    }
    const Count filled = dealt_before(moment);
    const Count rounds = std::max<Count>(0, (count - filled) / sms_ - 1);  // whole rounds keep all differences
    Count dealt = 0;
    for (Bin& bin : heap_) {
      const Count runs = runs_before(bin, moment) + (moment == top ? rounds : 0);
      if (runs > 0) run(bin, batch, runs, weight);
      dealt += runs * bin.sms;
    }
    std::make_heap(heap_.begin(), heap_.end(), later);
    return dealt;
  }

  Count sms_;
  std::vector<Bin> heap_;
  std::vector<Record> records_;
};

// Places for resident CTAs, the one that is free first on top: a heap of whole numbers, moment times 2^24 plus the
// place's number, padded to a full tree so that the way down is a loop without unpredictable branches. Places are
// numbered so that those of different SMs come first: number modulo SMs is the SM.
class Slots {
 public:
  explicit Slots(std::size_t slots) : keys_(std::bit_ceil(slots + 1) - 1, ~std::uint64_t{0}) {
    assert(slots < (std::size_t{1} << 24));
    for (std::size_t s = 0; s < slots; ++s) keys_[s] = s;  // ascending, so already a heap
  }
  std::size_t first() const { return keys_[0] & 0xffffff; }
  // The first place takes a task of this many ticks.
  void occupy(std::uint64_t ticks) {
    const std::uint64_t key = keys_[0] + (ticks << 24);
    std::size_t hole = 0;
    for (std::size_t child = 1; child < keys_.size(); child = 2 * hole + 1) {
      child += keys_[child + 1] < keys_[child];
      keys_[hole] = keys_[child];
      hole = child;
    }
    for (; hole > 0 && key < keys_[(hole - 1) / 2]; hole = (hole - 1) / 2) keys_[hole] = keys_[(hole - 1) / 2];
    keys_[hole] = key;
  }

 private:
  std::vector<std::uint64_t> keys_;
};
constexpr double kTicksOfHeaviest = 1 << 20;

// Tasks followed one by one; a few waves of them decide the imbalance at the end.
constexpr Count kMostFollowed = 2048;
constexpr Count kWavesFollowed = 6;

Count most_of(std::span<const Batch> batches) {
  Count most = 0;
  for (const Batch& batch : batches) most = std::max(most, batch.count);
  return most;
}

}  // namespace

Busiest hand_out_grouped(std::span<const Batch> batches, Count sms) {
  Bins bins(sms);
  for (std::size_t b = 0; b < batches.size(); ++b)
    bins.deal(static_cast<std::uint32_t>(b), batches[b].count, batches[b].weight);
  return bins.busiest(batches.size());
}

Busiest hand_out_interleaved(std::span<const Batch> batches, Count sms, int resident) {
  const std::size_t slots = static_cast<std::size_t>(sms * resident);
  const Count followed = std::max(kMostFollowed, kWavesFollowed * static_cast<Count>(slots));
  const Count rounds = most_of(batches);
  const Count level_rounds = std::max<Count>(
      0, rounds - std::max<Count>(1, followed / std::max<Count>(1, static_cast<Count>(batches.size()))));

  double heaviest = 0;
  for (const Batch& batch : batches) heaviest = std::max(heaviest, batch.weight);
  std::vector<std::uint64_t> ticks;
  ticks.reserve(batches.size());
  for (const Batch& batch : batches)
    ticks.push_back(heaviest > 0 ? static_cast<std::uint64_t>(batch.weight / heaviest * kTicksOfHeaviest) : 0);
  Slots free(slots);
  struct Dealt {
    std::uint32_t sm, batch;
  };
  std::vector<Dealt> dealt;
  dealt.reserve(static_cast<std::size_t>(followed) + batches.size());
  std::vector<double> work(static_cast<std::size_t>(sms), 0.0);
  for (Count round = level_rounds; round < rounds; ++round)
    for (std::size_t b = 0; b < batches.size(); ++b) {
      if (batches[b].count <= round) continue;
      const std::uint32_t sm = static_cast<std::uint32_t>(free.first()) % static_cast<std::uint32_t>(sms);
      work[sm] += batches[b].weight;
      dealt.push_back({sm, static_cast<std::uint32_t>(b)});
      free.occupy(ticks[b]);
    }

  const std::size_t most = static_cast<std::size_t>(std::max_element(work.begin(), work.end()) - work.begin());
  Busiest result{std::vector<double>(batches.size(), 0.0), work[most]};
  for (const Dealt& d : dealt)
    if (d.sm == most) result.runs[d.batch] += 1;
  for (std::size_t b = 0; b < batches.size() && level_rounds > 0; ++b) {
    const double even = static_cast<double>(std::min(batches[b].count, level_rounds)) / static_cast<double>(sms);
    result.runs[b] += even;
    result.weight += even * batches[b].weight;
  }
  return result;
}

Busiest hand_out_strided(std::span<const Batch> batches, Count sms, Order order) {
  const std::size_t width = static_cast<std::size_t>(sms);
  std::vector<double> work(width, 0.0);
  std::vector<double> runs(width * batches.size(), 0.0);
  std::size_t next = 0;  // SM of the next task
  const auto give = [&](std::size_t batch, std::size_t sm, double times) {
    runs[sm * batches.size() + batch] += times;
    work[sm] += times * batches[batch].weight;
  };
  if (order == Order::grouped) {
    for (std::size_t b = 0; b < batches.size(); ++b) {
      const double whole = static_cast<double>(batches[b].count / sms);
      for (std::size_t s = 0; whole > 0 && s < width; ++s) give(b, s, whole);
      for (Count extra = batches[b].count % sms; extra > 0; --extra, next = (next + 1) % width) give(b, next, 1);
    }
  } else {
    // The pattern repeats, so its first part represents the whole.
    constexpr Count kMostRounds = 1 << 16;
    const Count rounds = most_of(batches);
    const Count followed =
        std::min(rounds, std::max<Count>(1, kMostRounds / std::max<Count>(1, static_cast<Count>(batches.size()))));
    const double scale = static_cast<double>(rounds) / static_cast<double>(std::max<Count>(1, followed));
    for (Count round = 0; round < followed; ++round)
      for (std::size_t b = 0; b < batches.size(); ++b) {
        if (static_cast<double>(batches[b].count) <= static_cast<double>(round) * scale) continue;
        give(b, next, scale);
        next = (next + 1) % width;
      }
  }
  const std::size_t most = static_cast<std::size_t>(std::max_element(work.begin(), work.end()) - work.begin());
  Busiest result{{}, work[most]};
  result.runs.assign(runs.begin() + static_cast<std::ptrdiff_t>(most * batches.size()),
                     runs.begin() + static_cast<std::ptrdiff_t>((most + 1) * batches.size()));
  return result;
}

}  // namespace tilecast
