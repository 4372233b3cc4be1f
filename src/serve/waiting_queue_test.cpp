#include "serve/waiting_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "serve/scheduler.h"
#include "support/random.h"

namespace tilecast {
namespace {

std::vector<Count> ids_of(const WaitingQueue& queue) {
  std::vector<Count> ids;
  for (const auto& [place, s] : queue) ids.push_back(s->id);
  return ids;
}
std::vector<Count> ids_of(const std::deque<Sequence*>& queue) {
  std::vector<Count> ids;
  for (const Sequence* s : queue) ids.push_back(s->id);
  return ids;
}

TEST(WaitingQueue, EndsKeepTheOrderOfCalls) {
  std::vector<Sequence> all(5);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].id = static_cast<Count>(i);
  WaitingQueue queue;
  queue.push_back(all[0]);
  const QueuePlace second = queue.push_back(all[1]);
  queue.push_front(all[2]);
  queue.push_back(all[3]);
  queue.push_front(all[4]);
  EXPECT_EQ(ids_of(queue), (std::vector<Count>{4, 2, 0, 1, 3}));
  EXPECT_EQ(queue.front()->id, 4);
  queue.erase(second);
  EXPECT_EQ(ids_of(queue), (std::vector<Count>{4, 2, 0, 3}));
  EXPECT_EQ(queue.size(), 4u);
}

// A list that is kept sorted by inserting is what the queue stands for, step by step.
TEST(WaitingQueue, ByPlaceItIsASortedList) {
  Random random(11);
  std::vector<Sequence> all(2000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Sequence& s = all[i];
    s.id = static_cast<Count>(i);
    s.request.priority = static_cast<std::int32_t>(random.uniform() * 5) - 2;
    s.entered = seconds(std::floor(random.uniform() * 20));
  }
  const auto place_of = [](const Sequence& s) { return QueuePlace{s.request.priority, s.entered, s.id}; };
  const auto before = [&](const Sequence* a, const Sequence* b) { return place_of(*a) < place_of(*b); };
  WaitingQueue queue;
  std::deque<Sequence*> list;
  std::size_t next = 0;
  while (next < all.size() || !list.empty()) {
    const double choice = random.uniform();
    if (next < all.size() && (choice < 0.6 || list.empty())) {
      Sequence& s = all[next++];
      queue.insert(s, place_of(s));
      list.insert(std::upper_bound(list.begin(), list.end(), &s, before), &s);
    } else if (choice < 0.9) {
      ASSERT_EQ(queue.front(), list.front());
      queue.erase(place_of(*list.front()));
      list.pop_front();
    } else {  // a client gives up
      const auto one = list.begin() + static_cast<std::ptrdiff_t>(random.uniform() * static_cast<double>(list.size()));
      queue.erase(place_of(**one));
      list.erase(one);
    }
    if (next % 64 == 0) {
      ASSERT_EQ(ids_of(queue), ids_of(list));
    }
    ASSERT_EQ(queue.size(), list.size());
  }
}

// What a list kept sorted takes minutes for: every later request is more urgent, and each third gives up.
TEST(WaitingQueue, HoldsManyRequests) {
  constexpr Count kMany = 300000;
  std::vector<Sequence> all(kMany);
  WaitingQueue queue;
  for (Count i = 0; i < kMany; ++i) {
    Sequence& s = all[static_cast<std::size_t>(i)];
    s.id = i;
    s.place = queue.insert(s, {static_cast<std::int32_t>(i % 7), seconds(static_cast<double>(-i)), i});
  }
  for (Count i = 0; i < kMany; i += 3) queue.erase(all[static_cast<std::size_t>(i)].place);
  EXPECT_EQ(queue.size(), static_cast<std::size_t>(kMany - kMany / 3));
  Count taken = 0, last_priority = 0;
  while (!queue.empty()) {
    const Sequence& s = *queue.front();
    EXPECT_NE(s.id % 3, 0);
    EXPECT_GE(s.id % 7, last_priority);
    last_priority = s.id % 7;
    queue.erase(s.place);
    ++taken;
  }
  EXPECT_EQ(taken, kMany - kMany / 3);
}

}  // namespace
}  // namespace tilecast
