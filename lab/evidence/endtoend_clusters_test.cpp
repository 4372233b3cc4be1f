// Readers of training tables of many GPUs on files made here, and floors on the shared rows where they are there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "estimate/shipped_weights.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_report.h"
#include "lab/evidence/endtoend_table.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

constexpr const char* kHead =
    "source,gpu,num_gpus,tp,pp,dp_ep,model,precision,engine,engine_version,batch_or_concurrency,isl,osl,seqlen,metric,"
    "value,unit,notes\n";

TEST(Notes, AreWordsBetweenSemicolons) {
  const auto notes = notes_of("Pretraining ;mbs=4;vp=;;tp=1 (2)");
  EXPECT_EQ(notes.size(), 4u);
  EXPECT_EQ(notes.at("mbs"), "4");
  EXPECT_EQ(notes.at("vp"), "");
  EXPECT_EQ(notes.at("tp"), "1 (2)");
  EXPECT_EQ(notes.count("Pretraining "), 1u);
  EXPECT_TRUE(notes_of("").empty());
}

TEST(MosaicCases, SpreadTheBatchOverAllGpus) {
  TestFolder folder;
  const auto row = [](const char* params, const char* metric = "train_throughput") {
    return std::string("s,a100_40gb,16,1,1,FULL_SHARD,MPT-125m,bf16,e,,416,,,2048,") + metric +
           ",2088560,tokens/s,mbs=26;ga=1;act_ckpt=True;cpu_offload=False;params=" + params + ";mp_mode=PURE\n";
  };
  const std::string path = folder.plain("m.csv", kHead + row("125311488") + row("1", "train_step_time_derived"));
  const auto cases = mosaic_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 1u);
  const EndToEndCase& one = cases->cases.front();
  EXPECT_EQ(one.label.detail, "16 GPUs, bf16, pure, recomputed");
  ASSERT_TRUE(one.spread);
  EXPECT_EQ(one.spread->layout.dp, 16);
  EXPECT_EQ(one.spread->layout.sharding, Sharding::parameters);
  EXPECT_EQ(one.spread->cluster.nodes, 2);
  EXPECT_EQ(one.spread->cluster.gpu.name, "A100-SXM-40GB");
  EXPECT_EQ(one.runs.front().workload.sequences(), 416);
  EXPECT_EQ(one.runs.front().training.options.recompute, Recompute::full);
  // Tokens a second: what a step of all its tokens takes, the other way round.
  const auto judged = judge_cases(cases->cases, Method::roofline, nullptr);
  ASSERT_TRUE(judged) << judged.error().line();
  EXPECT_EQ(judged->front().quantity, "throughput");
  EXPECT_GT(judged->front().forecast, 2088560);  // a roofline is faster
  EXPECT_LT(judged->front().forecast, 4 * 2088560);
  EXPECT_TRUE(judged->front().fits);

  folder.plain("m.csv", kHead + row("125311489") + row("125311488"));
  const auto second = mosaic_cases(path);
  ASSERT_TRUE(second) << second.error().line();
  EXPECT_EQ(second->cases.size(), 1u);
  EXPECT_EQ(second->left_out.at("params is not what 'MPT-125m' has"), 1);
}

TEST(MegatronCases, AssumeItsDefaults) {
  TestFolder folder;
  const auto row = [](const char* test, const char* layout, const char* notes) {
    return std::string("s,NVIDIA A100 (DGX CI),8,") + layout + "," + test +
           ",bf16,Megatron-LM,dev,32,,,1024,peak_memory_allocated_rank,1e9,bytes,num-layers=12;hidden-size=512;"
           "num-attention-heads=8;micro-batch-size=4;" +
           notes + "\n";
  };
  const std::string path = folder.plain(
      "g.csv",
      kHead +
          row("gpt/a", "2,2,EP1 CP2", "sequence-parallel=true;attention-backend=flash;use-distributed-optimizer=true") +
          row("gpt/b", "1,4,EP1 CP1", "attention-backend=unfused;num-layers-per-virtual-pipeline-stage=1") +
          row("moe/c_etp1", "2,1,EP8 CP1", "num-experts=8;moe-router-topk=2;swiglu=true") +
          row("gpt/gpt_grpo", "1,1,EP1 CP1", "") + row("hybrid/x", "1,1,EP1 CP1", ""));
  const auto cases = megatron_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 3u);
  const RankLayout &a = cases->cases[0].spread->layout, &b = cases->cases[1].spread->layout,
                   &c = cases->cases[2].spread->layout;
  EXPECT_EQ(a.dp, 1);
  EXPECT_EQ(a.cp, 2);
  EXPECT_EQ(a.sharding, Sharding::optimizer);
  EXPECT_TRUE(a.sequence_parallel);
  EXPECT_EQ(std::get<ModelSpec>(cases->cases[0].runs[0].model).vocab, 50432);  // 50257 up to a multiple of 256
  EXPECT_FALSE(cases->cases[0].runs[0].engine.eager_attention);
  EXPECT_EQ(b.chunks, 3);
  EXPECT_EQ(b.sharding, Sharding::none);
  EXPECT_TRUE(cases->cases[1].runs[0].engine.eager_attention);
  EXPECT_TRUE(cases->cases[1].runs[0].engine.dropout);
  EXPECT_EQ(c.ep, 8);
  EXPECT_EQ(c.expert_width(), 1);
  EXPECT_EQ(c.dp, 4);
  EXPECT_FALSE(cases->cases[2].runs[0].engine.dropout);
  // The last stage has the head; the figure is its memory, not the fullest rank's.
  EXPECT_EQ(cases->cases[1].figures[0].terms[0].part, Part::last_memory);
  EXPECT_TRUE(judge_cases(cases->cases, Method::roofline, nullptr));
}

TEST(NemoCases, LeaveOutWhatIsNotDescribed) {
  TestFolder folder;
  const auto row = [](const char* gpus, const char* layout, const char* model, const char* precision,
                      const char* notes) {
    return std::string("s,DGX-H100,") + gpus + "," + layout + "," + model + "," + precision +
           ",NeMo,1,128,,,4096,train_throughput_per_gpu,1700,tokens/s/gpu," + notes + "\n";
  };
  const std::string path =
      folder.plain("n.csv", kHead + row("64", "4,4,CP1", "LLAMA2-70B", "FP8", "Pretraining ;mbs=1;vp=20") +
                                row("8", "1,1,CP1", "LLAMA2-7B", "FP8", "Finetuning LoRA;mbs=1;vp=") +
                                row("8", "1,1,CP1", "4", "FP8", "Long Input Sequences 4;mbs=1;vp=") +
                                row("8", "1 (2),1,CP1", "LLAMA2-7B", "FP8", "mbs=1;vp=") +
                                row("8", "1,1,CP1", "LLAMA2-7B", "", "mbs=1;vp=") +
                                row("8", "1,1,CP1", "Nemotron_9_Nano", "BF16", "mbs=1;vp="));
  const auto cases = nemo_cases(path, kNemoSource);
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 2u) << cases->cases.back().label.detail << " " << cases->cases.back().label.model;
  const EndToEndCase& one = cases->cases.front();
  EXPECT_EQ(one.spread->layout.chunks, 20);
  EXPECT_EQ(one.spread->layout.dp, 4);
  EXPECT_TRUE(one.spread->layout.sequence_parallel);
  EXPECT_DOUBLE_EQ(one.figures[0].measured, 64 * 1700);
  EXPECT_DOUBLE_EQ(one.figures[0].tokens, 128 * 4096);
  EXPECT_EQ(one.runs[0].training.options.precision, TrainPrecision::fp8_delayed);
  EXPECT_TRUE(std::get<ModelSpec>(cases->cases[1].runs[0].model).adapters);
  EXPECT_EQ(cases->left_out.size(), 4u);
  EXPECT_EQ(cases->left_out.at("unknown model 'Nemotron_9_Nano'"), 1);
}

// Nonsense in a row gives one line of error or no case, never a crash.
TEST(TrainingTables, SurviveNonsense) {
  TestFolder folder;
  for (const char* fields :
       {"0,1,1,EP1 CP1", "8,0,1,EP1 CP1", "8,99999999999,9,EP99999999999999999999 CP7", "1e300,1,1,EP CP", "x,y,z,"}) {
    for (const char* notes : {"", "mbs=0;params=;num-layers=0;hidden-size=0;num-attention-heads=0;micro-batch-size=-4",
                              "num-experts=3;num-layers-per-virtual-pipeline-stage=999;num-layers=1e30"}) {
      std::string text = kHead;
      for (const char* model : {"MPT-125m", "gpt/a_etp99999999999", "t5/x", "LLAMA2-7B"})
        for (const char* metric : {"train_throughput", "peak_memory_allocated_rank", "train_throughput_per_gpu"})
          text += fmt::format("s,h100,{},{},FP8,e,v,8,,,512,{},1,u,{}\n", fields, model, metric, notes);
      const std::string path = folder.plain("t.csv", text);
      for (const auto& cases : {mosaic_cases(path), megatron_cases(path), nemo_cases(path, kNemoSource)}) {
        if (!cases) {
          EXPECT_FALSE(cases.error().line().empty());
          continue;
        }
        for (const EndToEndCase& one : cases->cases) {
          const auto judged = judge_cases({one}, Method::roofline, nullptr);
          EXPECT_TRUE(judged || !judged.error().line().empty());
        }
      }
    }
  }
}

// Rows of the shared data.
constexpr const char* kTables = TILECAST_SOURCE_DIR "/../shared/data/e2e/";

TEST(MosaicRows, MedianErrorIsWithinTenPercent) {
  const std::string path = std::string(kTables) + "train_mosaicml_llm_foundry.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs ../shared/data/e2e";
  const auto cases = mosaic_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  const auto judged = judge_cases(cases->cases, Method::tilecast, &shipped_models());
  ASSERT_TRUE(judged) << judged.error().line();
  const auto ratios =
      ratios_of(*judged, [](const EndToEndResult& r) { return r.label.detail.find("bf16") != std::string::npos; });
  EXPECT_GT(ratios.size(), 150u);
  EXPECT_LE(summary_of_errors(ratios).median, 0.10);
}

TEST(MegatronRows, MemoryIsWithinFifteenPercentAndEveryRunFits) {
  const std::string path = std::string(kTables) + "train_megatron_lm_ci_golden.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs ../shared/data/e2e";
  auto cases = megatron_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  std::erase_if(cases->cases, [](const EndToEndCase& one) { return one.figures.front().name != "memory"; });
  const auto judged = judge_cases(cases->cases, Method::roofline, nullptr);  // memory is the same by any method
  ASSERT_TRUE(judged) << judged.error().line();
  EXPECT_GT(judged->size(), 500u);
  EXPECT_LE(summary_of_errors(ratios_of(*judged, [](const EndToEndResult&) { return true; })).median, 0.15);
  EXPECT_TRUE(ratios_of(*judged, [](const EndToEndResult& r) { return !r.fits; }).empty());
}

}  // namespace
}  // namespace tilecast
