#include "diagnose/reschedule.h"

#include <gtest/gtest.h>

#include <random>

#include "diagnose/recording_maker.h"

namespace tilecast {
namespace {

// New starts and ends in microseconds, in the order of the recorded starts.
struct NewSpan {
  double start, end;
  friend bool operator==(const NewSpan&, const NewSpan&) = default;
};
std::vector<NewSpan> spans(const Recording& r, const std::vector<double>& ratios) {
  std::vector<NewSpan> all;
  for (const NewTime& t : reschedule(r, ratios).events)
    all.push_back({static_cast<double>(t.start) / 1000, static_cast<double>(t.start + t.duration) / 1000});
  return all;
}
std::ostream& operator<<(std::ostream& out, const NewSpan& s) { return out << s.start << ".." << s.end; }

TEST(Reschedule, QueuedKernelsFollowEachOther) {
  RecordingMaker m;
  m.kernel("a", 10, 10).launched(0, 2);
  m.kernel("b", 21, 10).launched(3, 2);
  m.kernel("c", 32, 4).launched(6, 2);
  const Recording r = m.recording();
  EXPECT_EQ(spans(r, {0.5, 0.5, 0.5}), (std::vector<NewSpan>{{10, 15}, {16, 21}, {22, 24}}));
  EXPECT_EQ(spans(r, {2, 1, 1}), (std::vector<NewSpan>{{10, 30}, {31, 41}, {42, 46}}));
}

// The host is the limit: a faster card waits for its launches, a slower one catches up with them.
TEST(Reschedule, NothingStartsBeforeItsLaunch) {
  RecordingMaker m;
  m.kernel("a", 10, 5).launched(0, 2);
  m.kernel("b", 40, 5).launched(30, 2);
  const Recording r = m.recording();
  EXPECT_EQ(spans(r, {0.2, 0.2}), (std::vector<NewSpan>{{10, 11}, {40, 41}}));
  EXPECT_EQ(spans(r, {8, 1}), (std::vector<NewSpan>{{10, 50}, {50, 55}}));
}

// The host waited for a until 25 and went on at 27; b was launched after that.
TEST(Reschedule, TheHostGoesOnWhenTheGpuIsDone) {
  RecordingMaker m;
  m.kernel("a", 5, 20).launched(0, 2);
  m.host("cudaStreamSynchronize", 3, 24);
  m.kernel("b", 35, 5).launched(30, 2);
  const Recording r = m.recording();
  const Schedule half = reschedule(r, std::vector<double>{0.5, 1});
  EXPECT_EQ(half.events[0].start + half.events[0].duration, 15'000);
  EXPECT_EQ(half.host(27'000), 17'000);
  EXPECT_EQ(half.host(3'000), 3'000);
  EXPECT_EQ(half.host(30'000), 20'000);
  EXPECT_EQ(half.events[1].start, 25'000);
  const Schedule twice = reschedule(r, std::vector<double>{2, 1});
  EXPECT_EQ(twice.host(27'000), 47'000);
  EXPECT_EQ(twice.events[1].start, 55'000);
}

// b on another stream began when a ended, long after its own launch: it waited for it.
TEST(Reschedule, StreamsWaitForEachOther) {
  RecordingMaker m;
  m.kernel("a", 5, 45).launched(0, 2);
  m.kernel("b", 52, 10, 0, 8).launched(6, 2);
  m.kernel("c", 53, 3).launched(9, 2);
  EXPECT_EQ(spans(m.recording(), {2, 1, 1})[1], (NewSpan{97, 107}));
  // Where the host said that one stream waits for another, that holds even if it did not matter when recorded.
  RecordingMaker joined;
  joined.kernel("a", 5, 10, 0, 8).launched(0, 2);
  joined.host("cudaStreamWaitEvent", 20, 1);
  joined.kernel("b", 30, 10).launched(25, 2);
  EXPECT_EQ(spans(joined.recording(), {10, 1})[1].start, 105);
}

TEST(Reschedule, BranchesOfAGraphStaySideBySide) {
  RecordingMaker m;
  m.kernel("a", 10, 20).launched(0, 2);
  m.kernel("b", 15, 4).launched(0, 2);
  EXPECT_EQ(spans(m.recording(), {0.5, 1}), (std::vector<NewSpan>{{10, 20}, {12.5, 16.5}}));
}

Recording random_recording(std::mt19937& random) {
  const auto draw = [&](int most) { return static_cast<double>(random() % static_cast<unsigned>(most)); };
  RecordingMaker m;
  double host = 0, free[3] = {};
  for (int i = 0; i < 60; ++i) {
    const int stream = random() % 4 == 0 ? 1 + static_cast<int>(random() % 2) : 0;
    host += draw(15);
    const double start = std::max(host + 3 + draw(5), free[stream] + draw(3)), length = draw(30);
    m.kernel("k" + std::to_string(random() % 7), start, length, 0, stream + 7);
    if (random() % 10 != 0) m.launched(host, 2);
    free[stream] = start + length;
    host += 2;
    if (random() % 8 == 0) m.host("cudaStreamWaitEvent", host, 1);
    if (random() % 12 == 0) {
      const double until = std::max(host, free[stream]) + draw(4);
      m.host("cudaStreamSynchronize", host, until - host);
      host = until;
    }
  }
  return m.recording();
}

// Laws: the same times give the recording itself, whatever it is; and what takes no longer delays nothing.
TEST(Reschedule, LawsOverRandomRecordings) {
  std::mt19937 random(17);
  for (int round = 0; round < 200; ++round) {
    const Recording r = random_recording(random);
    const std::vector<double> same(r.kinds.size(), 1.0);
    const Schedule itself = reschedule(r, same);
    for (std::size_t i = 0; i < r.events.size(); ++i) {
      ASSERT_EQ(itself.events[i].start, r.events[i].start) << round << " " << i;
      ASSERT_EQ(itself.events[i].duration, r.events[i].duration);
    }
    for (const HostWait& w : r.waits) ASSERT_EQ(itself.host(w.end), w.end);
    std::vector<double> slow = same, fast = same;
    for (std::size_t k = 0; k < slow.size(); ++k) {
      slow[k] = 0.25 * static_cast<double>(1 + random() % 12);
      fast[k] = slow[k] * 0.5;
    }
    const Schedule late = reschedule(r, slow), early = reschedule(r, fast);
    std::vector<std::int64_t> ends(r.lanes.size(), INT64_MIN);
    for (std::size_t i = 0; i < r.events.size(); ++i) {
      const WorkEvent& e = r.events[i];
      EXPECT_LE(early.events[i].start, late.events[i].start + 2) << round << " " << i;
      if (e.launched >= 0) {
        EXPECT_GE(late.events[i].start, late.host(e.launched)) << "before its launch";
      }
      EXPECT_GE(late.events[i].start + 2, ends[e.lane]) << "before what stands in front of it";
      ends[e.lane] = late.events[i].start + late.events[i].duration;
    }
  }
}

TEST(Reschedule, TimesYearsApartAreRefused) {
  RecordingMaker m;
  m.kernel("a", 0, 1).kernel("b", 1e14, 1);
  const Recording r = m.recording();
  EXPECT_FALSE(check_window(r).ok());
  RecordingMaker near;
  near.kernel("a", 0, 1).kernel("b", 1e9, 1);
  EXPECT_TRUE(check_window(near.recording()).ok());
}

}  // namespace
}  // namespace tilecast
