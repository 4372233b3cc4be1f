#include "gpu/card_constants.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "constants/registry.h"
#include "gpu/registry.h"

namespace tilecast {
namespace {

// What differs between cards must be said once for each: two values would leave open which one a forecast takes.
TEST(CardConstants, EveryCardHasOneValueOfEach) {
  for (const Gpu& gpu : built_in_gpus()) {
    std::map<std::string, int> values;
    for (const Constant* c : constants_of(gpu))
      if (!c->cards.empty()) ++values[std::string(c->name) + " " + std::string(c->of)];
    for (const auto& [name, count] : values) EXPECT_EQ(count, 1) << gpu.name << ": " << name;
  }
}

TEST(CardConstants, NoCardLacksOneThatAllNeed) {
  for (const Gpu& gpu : built_in_gpus()) {
    std::set<std::string_view> names;
    for (const Constant* c : constants_of(gpu)) names.insert(c->name);
    for (const std::string_view name :
         {"pipeline.step_clocks", "pipeline.efficiency", "pipeline.feed", "physics.dram_efficiency", "power.switching",
          "power.top_clock", "power.tensor_operation", "power.idle_share", "pipeline.simt_efficiency", "cache.usable",
          "occupancy.partitions", "occupancy.shared_unit", "memory.cublas_workspace", "moe.piece_l2"})
      EXPECT_TRUE(names.contains(name)) << gpu.name << " has no " << name;
  }
}

// A word that fits no card is a slip of the pen.
TEST(CardConstants, EveryConstantHoldsForSomeCard) {
  for (const Constant* c : all_constants()) {
    bool found = false;
    for (const Gpu& gpu : built_in_gpus()) found = found || holds_for(*c, gpu);
    EXPECT_TRUE(found) << c->name << " holds for " << c->cards;
  }
}

}  // namespace
}  // namespace tilecast
