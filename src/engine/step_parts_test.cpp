#include "engine/step_parts.h"

#include <gtest/gtest.h>

#include "estimate/shipped_weights.h"
#include "gpu/registry.h"

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

// Fixed scales spare the passes that find them: no product takes longer for having them. Of one row to a thousand, of a
// whole Llama 3.1 70B layer and a rank's share.
TEST(Step, FixedScalesTakeNoLongerThanThoseToBeFound) {
  for (const char* gpu : {"H100-SXM", "H200-SXM", "B200", "L40S"})
    for (const Launcher engine : {Launcher::vllm, Launcher::trtllm}) {
      Program with, without;
      for (const Count m : {1, 16, 64, 1024})
        for (const Gemm& shape :
             {Gemm{m, 10240, 8192}, Gemm{m, 57344, 8192}, Gemm{m, 8192, 28672}, Gemm{m, 8192, 1024}}) {
          KernelCall call;
          call.context.engine = engine;
          call.kernel = {shape, *format_from("fp8")};
          with.calls.push_back(call);
          call.kernel.format = *format_from("fp8_static");
          without.calls.push_back(call);
        }
      const auto found = forecast_step(with, *find_gpu(gpu), 1, Method::tilecast, &shipped_models());
      const auto fixed = forecast_step(without, *find_gpu(gpu), 1, Method::tilecast, &shipped_models());
      ASSERT_TRUE(found && fixed);
      for (std::size_t i = 0; i < with.calls.size(); ++i)
        EXPECT_LE(fixed->calls[i].unheated.base(), found->calls[i].unheated.base() * 1.0001) << gpu << " " << i;
    }
}

}  // namespace
}  // namespace tilecast
