// What fits is the same, whoever is asked.
#include "api/fit_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tilecast/memory.h"
#include "tilecast/plan.h"
#include "tilecast/serving.h"

namespace tilecast {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// SGLang keeps memory free by the size of its steps: the weights fit beside small ones alone.
TEST(FitNotes, StepsDecideForAllQuestionsAlike) {
  SimulateQuery simulated;
  simulated.model = "DeepSeek-V3", simulated.gpu = "B200", simulated.tp = 4;
  simulated.engine = ServingEngine::sglang, simulated.load.rate = 1, simulated.num_prompts = 20;
  const auto refused = simulate(simulated);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().line(), HasSubstr("does not fit B200"));
  EXPECT_THAT(refused.error().line(), HasSubstr("chunked-prefill-size 2048"));
  simulated.chunk = 2048;
  EXPECT_TRUE(simulate(simulated));

  MemoryQuery memory{{.model = "DeepSeek-V3", .gpu = "B200", .mode = Mode::decode, .batch = 1, .context = 2048}};
  memory.step.engine = EngineKind::sglang, memory.step.layout.tp = 4;
  const auto said = forecast(memory);
  ASSERT_TRUE(said) << said.error().line();
  EXPECT_FALSE(said->fits());
  EXPECT_THAT(said->notes, Contains(HasSubstr("it fits with steps of 2048 tokens (chunked-prefill-size 2048)")));
  const auto step = forecast(memory.step);
  ASSERT_TRUE(step) << step.error().line();
  EXPECT_THAT(step->notes, Contains(HasSubstr("chunked-prefill-size 2048")));

  PlanServeQuery planned;
  planned.model = "DeepSeek-V3", planned.gpus = {"4xB200"}, planned.engines = {"sglang"}, planned.layouts = {"tp4"};
  planned.slo = "ttft=5s,tpot=100ms", planned.load.rate = 0.5, planned.num_prompts = 50, planned.aggregated = true;
  const auto plan = plan_serve(planned);
  ASSERT_TRUE(plan && plan->best);
  for (const PlannedServing& d : plan->finalists) EXPECT_EQ(d.pool.chunk, 2048);
}

TEST(FitNotes, NothingIsSaidWhereItFits) {
  MemoryQuery memory{{.model = "Llama-3.1-8B", .gpu = "H100-SXM", .mode = Mode::decode, .batch = 1, .context = 2048}};
  memory.step.engine = EngineKind::vllm;
  EXPECT_THAT(forecast(memory)->notes, Not(Contains(HasSubstr("fit"))));
  memory.step.model = "Llama-3.1-405B";  // by no steps
  EXPECT_THAT(forecast(memory)->notes, Not(Contains(HasSubstr("fit"))));
}

}  // namespace
}  // namespace tilecast
