// Host time by operator, against sums by hand.
#include "engine/host_units.h"

#include <gtest/gtest.h>

#include "constants/engine.h"
#include "constants/host.h"
#include "engine/run.h"
#include "kernel/attention_prefill.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "model/library.h"

namespace tilecast {
namespace {

using namespace constants;

// Two products, an attention and an addition, three times a step.
Program forward_program() {
  Program program;
  program.sections.push_back({"layer", 3, Pass::forward, {}, -1});
  const Format format = *format_from("bf16");
  for (const Shape& shape : {Shape(Gemm{}), Shape(Gemm{}), Shape(AttentionPrefill{}), Shape(Elementwise{})}) {
    KernelCall call;
    call.kernel = {shape, format};
    call.times = 3;
    program.calls.push_back(call);
  }
  return program;
}

TEST(HostUnits, AddUpByHand) {
  const Program program = forward_program();
  const double own = 2 * kProductUnits + kAttentionUnits + kPointwiseUnits;
  EXPECT_DOUBLE_EQ(host_units(program, HostCode::operators), 3 * own * kAround);
  EXPECT_DOUBLE_EQ(host_units(program, HostCode::modules), 3 * (own * kAround + kBlockUnits));
  EXPECT_NEAR(in_microseconds(launch_time(program, HostCode::operators, microseconds(10))), 10 * own * kAround / 4,
              1e-9);
}

TEST(HostUnits, GradientsCostMoreAndRecordingSome) {
  Program program = forward_program();
  const double before = host_units(program, HostCode::operators);
  program.sections.push_back({"layer backward", 1, Pass::backward, {}, 0});
  KernelCall gradient = program.calls.front();
  gradient.section = 1, gradient.times = 1;
  program.calls.push_back(gradient);
  EXPECT_DOUBLE_EQ(host_units(program, HostCode::operators), before * kRecorded + kProductUnits * kAutogradFactor);
}

// Called from Python again, and wrapped by torch.utils.checkpoint once a block.
TEST(HostUnits, WhatRunsAgainIsForwardAndItsCheckpoint) {
  Program program = forward_program();
  program.sections.push_back({"layer backward", 1, Pass::backward, {}, 0});
  const double before = host_units(program, HostCode::operators);
  program.sections.push_back({"layer (recomputed)", 3, Pass::backward, {}, 0, true});
  KernelCall again = program.calls.front();
  again.section = 2;
  program.calls.push_back(again);
  EXPECT_DOUBLE_EQ(host_units(program, HostCode::operators),
                   before + 3 * (kProductUnits * kAround * kRecorded + kCheckpointUnits));
}

TEST(HostUnits, AStepOfPytorchIsPricedByItsOperators) {
  Workload w;
  w.requests = {{1, 128, 0}};
  tilecast::Run run{*find_model("BERT-Base-MLM"), w, {}, {}};
  run.engine.kind = EngineKind::pytorch;
  run.engine.precision = *precision_from("bf16");
  const auto prepared = prepare(run);
  ASSERT_TRUE(prepared);
  const Program& program = prepared->program;
  const double additions =
      program.host.per_launch / microseconds(kPytorchLaunch) * static_cast<double>(program.launches());
  EXPECT_NEAR(additions, host_units(program, HostCode::modules), 1e-6 * additions);
  EXPECT_GT(additions, 600) << "774 additions on a H200's host at 512 tokens (data/measurements/h200_host_steps.csv)";
  EXPECT_LT(additions, 900);
}

}  // namespace
}  // namespace tilecast
