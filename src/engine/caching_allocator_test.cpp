#include "engine/caching_allocator.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

constexpr Count kMiB = Count{1} << 20;

ProgramFile program_of(std::size_t calls, std::vector<ProgramStorage> storages) {
  ProgramFile program;
  program.calls.resize(calls);
  program.storages = std::move(storages);
  return program;
}

TEST(CachingAllocator, RoundsTo512AndTakesSegments) {
  const AllocatorTrace trace = allocate(program_of(1, {{100, true, StorageRole::other, 0, -1}}));
  EXPECT_EQ(trace.peak, 512);
  EXPECT_EQ(trace.reserved, 2 * kMiB);
  EXPECT_EQ(allocate(program_of(1, {{3 * kMiB, true, StorageRole::other, 0, -1}})).reserved, 20 * kMiB);
  EXPECT_EQ(allocate(program_of(1, {{11 * kMiB + 1, true, StorageRole::other, 0, -1}})).reserved, 12 * kMiB);
}

TEST(CachingAllocator, WhatIsGivenBackIsHandedOutAgain) {
  // Two of 15 MiB one after the other share a segment; side by side they need two.
  const AllocatorTrace turns = allocate(
      program_of(2, {{15 * kMiB, true, StorageRole::other, 0, 0}, {15 * kMiB, true, StorageRole::other, 1, 1}}));
  EXPECT_EQ(turns.peak, 16 * kMiB) << "1 MiB is too little to be split off";
  EXPECT_EQ(turns.reserved, 16 * kMiB);
  EXPECT_EQ(turns.resting, 0);
  const AllocatorTrace both = allocate(
      program_of(2, {{15 * kMiB, true, StorageRole::other, 0, 1}, {15 * kMiB, true, StorageRole::other, 1, 1}}));
  EXPECT_EQ(both.peak, 32 * kMiB);
  EXPECT_EQ(both.peak_call, 1u);
  EXPECT_EQ(both.reserved, 32 * kMiB);
}

TEST(CachingAllocator, NeighboursMerge) {
  // Four blocks of 4 MiB in one segment; the middle two, given back, hold one of 8 MiB.
  std::vector<ProgramStorage> storages;
  for (int i = 0; i < 4; ++i)
    storages.push_back({4 * kMiB, true, StorageRole::other, 0, i == 1 || i == 2 ? 0 : -1});
  storages.push_back({8 * kMiB, true, StorageRole::other, 1, -1});
  EXPECT_EQ(allocate(program_of(2, storages)).reserved, 20 * kMiB);
}

TEST(CachingAllocator, LibrariesHoldMemoryToo) {
  const ProgramFile program = program_of(2, {{kMiB, true, StorageRole::other, -1, -1}, {0, true, StorageRole::other, 0, -1}});
  LibraryMemory libraries;
  libraries.throughout = {32 * kMiB};
  libraries.of_call = {0, 5 * kMiB};
  libraries.of_storage = {0, 2 * kMiB};
  const AllocatorTrace trace = allocate(program, libraries);
  EXPECT_EQ(trace.over_calls[0], 35 * kMiB);
  EXPECT_EQ(trace.peak, 40 * kMiB);
  EXPECT_EQ(trace.resting, 35 * kMiB);
}

TEST(CachingAllocator, HostMemoryIsNotCounted) {
  EXPECT_EQ(allocate(program_of(1, {{kMiB, false, StorageRole::other, -1, -1}})).peak, 0);
}

}  // namespace
}  // namespace tilecast
