#include "engine/step_parts.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

// Three kernels: 2 x 5 ms, 1 x 4 ms and 4 x 1 ms.
struct Made {
  Program program;
  ProgramForecast step;
  Made() {
    add("a", OpClass::attention, 2, milliseconds(5), Resource::dram, Seen::yes);
    add("b", OpClass::other, 1, milliseconds(4), Resource::tensor, Seen::sibling);
    add("c", OpClass::attention, 4, milliseconds(1), Resource::tensor, Seen::no);
  }
  void add(const char* name, OpClass op_class, Count times, Seconds each, Resource limit, Seen seen) {
    KernelCall call;
    call.name = name, call.op_class = op_class, call.times = times;
    program.calls.push_back(call);
    CallForecast c;
    c.each = each, c.bound = each / 2, c.limited_by = limit, c.seen = seen;
    step.calls.push_back(c);
  }
};

TEST(StepParts, AddUpByHand) {
  const Made m;
  const auto classes = step_classes(m.program, m.step);
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].name, name_of(OpClass::attention));  // in order of appearance
  EXPECT_DOUBLE_EQ(classes[0].time.base(), 14e-3);
  EXPECT_DOUBLE_EQ(classes[0].bound.base(), 7e-3);
  EXPECT_EQ(classes[0].launches, 6);
  EXPECT_EQ(classes[0].limited_by(), Resource::dram);
  EXPECT_EQ(classes[1].limited_by(), Resource::tensor);
  const StepPart whole = whole_step(m.program, m.step);
  EXPECT_DOUBLE_EQ(whole.time.base(), 18e-3);
  EXPECT_EQ(whole.limited_by(), Resource::dram);  // 10 of 18 ms
  EXPECT_FALSE(whole_step({}, {}).limited_by());
}

TEST(StepParts, UnknownKernelsStandApart) {
  Made m;
  m.program.calls[2].unknown = true;
  const auto classes = step_classes(m.program, m.step);
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[2].name, "unknown (memory traffic only)");
}

TEST(StepParts, SeenIsTheWeakestClaimOfMostOfTheTime) {
  Made m;
  EXPECT_EQ(seen_of(m.program, m.step), Seen::yes);  // 10 of 18 ms
  m.step.calls[0].seen = Seen::sibling;
  EXPECT_EQ(seen_of(m.program, m.step), Seen::sibling);  // 14 of 18
  m.step.calls[1].seen = m.step.calls[0].seen = Seen::no;
  EXPECT_EQ(seen_of(m.program, m.step), Seen::no);
}

}  // namespace
}  // namespace tilecast
