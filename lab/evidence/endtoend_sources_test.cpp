// Tables of every source with names that it does not know and cards that nobody listed for it: names are
// counted, cards taken as themselves, and the rest of the table is still read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "engine/run.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/serving.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

constexpr std::string_view kHead =
    "source,gpu,num_gpus,tp,pp,dp_ep,model,precision,engine,engine_version,batch_or_concurrency,isl,osl,seqlen,metric,"
    "value,unit,notes\n";

template <class Case>
std::vector<std::string> cards_of(const ReadCases<Case>& read) {
  std::vector<std::string> names;
  for (const Case& one : read.cases) names.push_back(one.label.gpu);
  return names;
}
template <class Case>
Count rows_of(const ReadCases<Case>& read) {
  Count rows = read.rows;
  for (const auto& [why, count] : read.left_out) rows += count;
  return rows;
}
using Names = std::vector<std::string>;

class EndToEndSources : public testing::Test {
 protected:
  std::string table(const std::string& rows) { return folder_.plain("t.csv", std::string(kHead) + rows); }
  TestFolder folder_;
};

TEST_F(EndToEndSources, Argonne) {
  const auto row = [](const char* gpu, int gpus, const char* model, const char* format, const char* engine) {
    return fmt::format("s,{},{},1,1,,{},{},{},,16,128,128,,e2e_latency,2.5,s,\n", gpu, gpus, model, format, engine);
  };
  const auto read =
      argonne_cases(table(row("Nvidia A100 GPU", 1, "meta-llama/Llama-2-7b-hf", "fp16/bf16", "vLLM") +
                          row("Nvidia B300 GPU", 1, "meta-llama/Llama-2-7b-hf", "fp16", "vLLM") +
                          row("Nvidia GB200 GPU", 2, "meta-llama/Llama-2-7b-hf", "fp16", "vLLM") +
                          row("Habana Gaudi2", 1, "meta-llama/Llama-2-7b-hf", "fp16", "vLLM") +
                          row("Nvidia H100 GPU", 1, "no/Model-1B", "fp16", "vLLM") +
                          row("Nvidia H100 GPU", 1, "meta-llama/Llama-2-7b-hf", "fp7", "vLLM") +
                          row("Nvidia H100 GPU", 1, "meta-llama/Llama-2-7b-hf", "fp16", "llama.cpp") + "too,short\n"));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"A100-SXM-40GB", "B300", "GB200"}));
  EXPECT_EQ(read->cases[2].spread->cluster.gpu.name, "GB200");
  EXPECT_EQ(read->left_out.at("unknown GPU 'Habana Gaudi2'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model 'no/Model-1B'"), 1);
  EXPECT_EQ(read->left_out.at("unknown format 'fp7'"), 1);
  EXPECT_EQ(read->left_out.at("unknown engine 'llama.cpp'"), 1);
  EXPECT_EQ(read->left_out.at("no row: has 2 fields, the header 18"), 1);
  EXPECT_EQ(rows_of(*read), 8);
}

// vLLM loads a checkpoint in its own type, which matters to AMD's attention; all-reduces there cost more than forecast.
TEST_F(EndToEndSources, ArgonneOnAmdKeepsTheCheckpointsType) {
  const auto row = [](int gpus, const char* model) {
    return fmt::format("s,AMD MI300X GPU,{},1,1,,{},fp16/bf16,vLLM,,16,128,128,,e2e_latency,2.5,s,\n", gpus, model);
  };
  const auto read = argonne_cases(table(row(1, "meta-llama/Llama-2-7b-hf") + row(1, "meta-llama/Meta-Llama-3-8B") +
                                        row(2, "meta-llama/Meta-Llama-3-8B") + row(8, "meta-llama/Meta-Llama-3-8B")));
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->cases.size(), 4u);
  EXPECT_EQ(read->cases[0].runs[0].engine.precision.linear.name, "fp16");
  EXPECT_EQ(read->cases[1].runs[0].engine.precision.linear.name, "bf16");
  const Seconds two = read->cases[2].spread->per_step, eight = read->cases[3].spread->per_step;
  EXPECT_NEAR((eight - two).base(), 2 * 32 * 25e-6, 1e-12);  // 35 and 10 us, two of them in each of 32 layers
}

TEST_F(EndToEndSources, Trtllm) {
  const auto row = [](const char* gpu, const char* model, const char* format) {
    return fmt::format("s,{},1,1,1,,{},{},TensorRT-LLM,0.8.0,1,2048,1,,ttft,40,ms,single\n", gpu, model, format);
  };
  const auto read = trtllm_cases(table(row("H100", "GPT-J 6B", "FP8") + row("B300", "GPT-J 6B", "FP8") +
                                       row("RTX PRO 6000 Server", "LLaMA 7B", "FP16") + row("H101", "GPT-J 6B", "FP8") +
                                       row("H100", "GPT-K 6B", "FP8") + row("H100", "GPT-J 6B", "Mixed")));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"H100-SXM", "B300", "RTX-PRO-6000-Blackwell-Server"}));
  EXPECT_EQ(read->cases[0].label.detail, "fp8");
  EXPECT_EQ(read->cases[2].label.detail, "fp16");
  EXPECT_EQ(read->left_out.at("unknown GPU 'H101'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model 'GPT-K 6B'"), 1);
  EXPECT_EQ(read->left_out.at("unknown format 'Mixed'"), 1);
}

TEST_F(EndToEndSources, Mosaic) {
  const auto row = [](const char* gpu, const char* model, const char* format) {
    return fmt::format(
        "s,{},16,1,1,FULL_SHARD,{},{},e,,416,,,2048,train_throughput,2088560,t/s,mbs=26;params=125311488\n", gpu, model,
        format);
  };
  const auto read = mosaic_cases(table(row("a100_40gb", "MPT-125m", "amp_bf16") + row("b300", "MPT-125m", "bf16") +
                                       row("GB200", "MPT-125m", "amp_fp8") + row("h100_81gb", "MPT-125m", "bf16") +
                                       row("h100_80gb", "MPT-126m", "bf16") + row("h100_80gb", "MPT-125m", "amp_fp9")));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"A100-SXM-40GB", "B300", "GB200"}));
  EXPECT_EQ(read->cases[2].label.detail, "16 GPUs, fp8");
  EXPECT_EQ(read->left_out.at("unknown GPU 'h100_81gb'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model 'MPT-126m'"), 1);
  EXPECT_EQ(read->left_out.at("unknown format 'amp_fp9'"), 1);
}

// A GB200 must not be taken for an A100.
TEST_F(EndToEndSources, Megatron) {
  const auto row = [](const char* gpu, const char* model, const char* format) {
    return fmt::format(
        "s,{},8,1,1,EP1 CP1,{},{},Megatron-LM,dev,32,,,1024,peak_memory_allocated_rank,1e9,bytes,num-layers=12;"
        "hidden-size=512;num-attention-heads=8;micro-batch-size=4\n",
        gpu, model, format);
  };
  const auto read = megatron_cases(
      table(row("NVIDIA A100 (DGX CI)", "gpt/a", "bf16") + row("NVIDIA GB200 (DGX CI)", "gpt/a", "fp8") +
            row("NVIDIA B300 (DGX CI)", "gpt/a", "bf16") + row("NVIDIA X100 (DGX CI)", "gpt/a", "bf16") +
            row("NVIDIA H100 (DGX CI)", "hybrid/a", "bf16") + row("NVIDIA H100 (DGX CI)", "gpt/a", "fp7")));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"A100-SXM-80GB", "GB200", "B300"}));
  EXPECT_EQ(read->cases[1].spread->cluster.gpu.name, "GB200");
  EXPECT_EQ(read->left_out.at("unknown GPU 'NVIDIA X100 (DGX CI)'"), 1);
  EXPECT_EQ(read->left_out.at("unknown format 'fp7'"), 1);
  EXPECT_EQ(read->left_out.at("tests of models that the table does not describe: 'hybrid'"), 1);
}

// A B300 must not be taken for an H100.
TEST_F(EndToEndSources, BridgeAndNemo) {
  const auto row = [](const char* gpu, const char* model, const char* format) {
    return fmt::format("s,{},64,4,4,CP1,{},{},NeMo,1,128,,,4096,train_throughput_per_gpu,1700,t/s,mbs=1;vp=20\n", gpu,
                       model, format);
  };
  const std::string path = table(row("DGX-H100", "LLAMA2-70B", "FP8") + row("DGX-B300", "LLAMA2-70B", "FP8") +
                                 row("DGX-GB200", "LLAMA2-70B", "NVFP4") + row("A100-SXM4-80GB", "LLAMA2-70B", "BF16") +
                                 row("DGX-X100", "LLAMA2-70B", "FP8") + row("DGX-H100", "LLAMA9-70B", "FP8") +
                                 row("DGX-H100", "LLAMA2-70B", "FP7") + row("DGX-H100", "LLAMA2-70B", "") +
                                 row("DGX-H100", "DeepSeekV3 (tokendrop)", "FP8"));
  for (const SourceMapping* source : {&kBridgeSource, &kNemoSource}) {
    const auto read = nemo_cases(path, *source);
    ASSERT_TRUE(read) << read.error().line();
    EXPECT_EQ(cards_of(*read), (Names{"H100-SXM", "B300", "GB200", "A100-SXM-80GB"}));
    EXPECT_EQ(read->cases[1].spread->cluster.gpu.name, "B300");
    EXPECT_EQ(read->left_out.at("unknown GPU 'DGX-X100'"), 1);
    EXPECT_EQ(read->left_out.at("unknown model 'LLAMA9-70B'"), 1);
    EXPECT_EQ(read->left_out.at("unknown format 'FP7'"), 1);
    EXPECT_EQ(read->left_out.at("'': the format is not said"), 1);
    EXPECT_EQ(rows_of(*read), 9);
    // A card without the format, fp8 on an A100, costs its own row alone.
    LeftOutRows without;
    const auto judged = judge_cases(read->cases, Method::roofline, nullptr, &without);
    ASSERT_TRUE(judged) << judged.error().line();
    EXPECT_EQ(judged->front().label.source, source->name);
  }
}

TEST_F(EndToEndSources, Neusight) {
  std::filesystem::create_directories(folder_.file("models"));
  folder_.plain("models/gpt2_large.json",
                R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 1280,
      "n_head": 20, "n_layer": 36, "n_positions": 1024, "vocab_size": 50257})");
  std::string head = "device,model,mode,seqlen,batch,option,has_perop,sum_meas_ops_fw_ms,sum_meas_ops_bw_ms", tail;
  for (const char* method : {"meas", "neusight", "roofline", "habitat", "micro"})
    for (const char* part : {"e2e", "fw", "bw"}) head += fmt::format(",{}_{}_ms", method, part), tail += ",5";
  const auto row = [&](const char* device, const char* model) {
    return fmt::format("{},{},inf,1024,4,,0,,{}\n", device, model, tail);
  };
  folder_.plain("e2e_labels.csv", head + "\n" + row("NVIDIA_B300", "gpt2_large") + row("NVIDIA_X1", "gpt2_large") +
                                      row("Tesla_T4", "gpt9") + row("Tesla_T4", "../models/gpt2_large"));
  const auto read = neusight_cases(folder_.file(""));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), Names{"B300"});
  EXPECT_EQ(read->left_out.at("unknown GPU 'NVIDIA_X1'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model 'gpt9'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model '../models/gpt2_large'"), 1);
}

TEST_F(EndToEndSources, Synperf) {
  std::filesystem::create_directories(folder_.file("e2e_real"));
  std::filesystem::create_directories(folder_.file("workload"));
  folder_.plain("workload/w.csv", "num_prefill_tokens,num_decode_tokens,output_tokens\n100,9,5\n");
  folder_.plain("workload/vllm_w.csv", "num_prefill_tokens,num_decode_tokens,output_tokens\n100,9,5\n");
  const auto runs = [](const char* name) {
    return fmt::format(
        "{{\"run_name\": \"{}\", \"median_decode_latency\": 0.03, \"total_latency\": 4, "
        "\"prefill_latency\": 1}}\n",
        name);
  };
  folder_.plain("e2e_real/e2e_B300.jsonl", runs("Qwen2.5-14B-w") + runs("Qwen99-w") + runs("Qwen2.5-14B-nothing"));
  folder_.plain("e2e_real/e2e_tp2_RTX_PRO_6000_Server.jsonl", runs("Qwen2.5-14B-w"));
  folder_.plain("e2e_real/e2e_X1.jsonl", runs("Qwen2.5-14B-w"));
  folder_.plain("e2e_real/vllm_w_H200_llama70B.json", R"({"latencies": [9, 7, 8]})");
  const auto read = synperf_cases(folder_.file(""));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"B300", "RTX-PRO-6000-Blackwell-Server", "H200-SXM"}));
  EXPECT_EQ(read->cases[2].label.model, "Llama-3.1-70B");
  EXPECT_EQ(read->left_out.at("unknown GPU 'X1'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model 'Qwen99'"), 1);
  EXPECT_EQ(read->left_out.at("unknown workload 'nothing'"), 1);
}

TEST_F(EndToEndSources, OurOwn) {
  const auto row = [](const char* gpu, const char* model, const char* format) {
    return fmt::format("{},{},decode,eager,fused,flash,{},0,4,128,latency_ms,3,c\n", gpu, model, format);
  };
  const auto read = h200_cases(
      folder_.plain("own.csv", "gpu,model,mode,engine,ops,attention,dtype,checkpoint,batch,length,metric,value,card\n" +
                                   row("H200-SXM", "llama-3.1-8b", "bf16") + row("B300", "llama-3.1-8b", "bf16") +
                                   row("X1", "llama-3.1-8b", "bf16") + row("H200-SXM", "llama-99", "bf16") +
                                   row("H200-SXM", "llama-3.1-8b", "fp7")));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"B300", "H200-SXM"}));
  EXPECT_EQ(read->left_out.at("unknown GPU 'X1'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model 'llama-99'"), 1);
  EXPECT_EQ(read->left_out.at("unknown format 'fp7'"), 1);
}

// A step's host is as fast as it was in the other steps of its model on that card: ten times slower here.
TEST_F(EndToEndSources, AHostIsTimedByTheOthersSteps) {
  std::string rows = "gpu,model,mode,engine,ops,attention,dtype,checkpoint,batch,length,metric,value,card\n";
  const auto add = [&](const char* model, int batch, double issue) {
    for (const auto& [metric, value] : {std::pair("latency_ms", issue), {"issue_ms", issue}, {"kernels", 900.0}})
      rows += fmt::format("H200-SXM,{},decode,eager,plain,flash,bf16,0,{},128,{},{},c\n", model, batch, metric, value);
  };
  add("tinyllama-1.1b", 1, 100), add("tinyllama-1.1b", 2, 300), add("gpt2-medium", 1, 10);
  const auto read = h200_cases(folder_.plain("own.csv", rows));
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->cases.size(), 3u);
  const auto pace = [&](std::size_t i) { return read->cases[i].pace->addition; };
  EXPECT_EQ(read->cases[1].label.batch, 1);
  EXPECT_NEAR(pace(1) / pace(2), 3, 1e-6) << "each by the other";
  EXPECT_NEAR(in_milliseconds(pace(2)) * host_units(prepare(read->cases[1].runs.front())->program, HostCode::operators),
              100, 1e-6);
  EXPECT_GT(pace(0), pace(2)) << "no other step of its model: the middle of the card's";
}

TEST_F(EndToEndSources, OurOwnSteps) {
  const auto read = h200_step_cases(TILECAST_SOURCE_DIR "/data/measurements");
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_GT(read->rows, 200);
  EXPECT_EQ(read->left_out.at("'whisper-small-decoder': a decoder without its encoder"), 4);
  std::set<std::string> chosen, judged;
  Count untouched = 0;
  for (const EndToEndCase& one : read->cases) {
    const auto is = [&](const char* half) { return one.label.detail.find(half) != std::string::npos; };
    if (is("untouched")) ++untouched;
    else (is("chosen on") ? chosen : judged).insert(one.label.model);
    EXPECT_EQ(one.pace.has_value(), one.label.engine == "eager");
    EXPECT_GT(one.figures.front().measured, 1e-4);
  }
  EXPECT_EQ(chosen.size(), 8u);
  EXPECT_GE(judged.size(), 8u);
  EXPECT_EQ(untouched, 76);
  for (const std::string& name : chosen) EXPECT_FALSE(judged.contains(name)) << name;
}

TEST_F(EndToEndSources, Llmservingsim) {
  const auto row = [](const char* gpu, const char* model, const char* format, const char* notes) {
    std::string rows;
    for (const char* metric : {"req_ttft", "req_tpot", "req_e2e_latency"})
      rows += fmt::format("s,{},1,1,1,,{},{},vLLM,0.19,x,100,11,,{},50,ms,{}\n", gpu, model, format, metric, notes);
    return rows;
  };
  constexpr const char* kNotes = "bench-0;arrival_s=0;sched_delay_ms=1";
  const auto read = llmservingsim_cases(
      table(row("NVIDIA GeForce RTX 4090", "meta-llama/Llama-3.1-8B", "bfloat16", kNotes) +
            row("B300", "meta-llama/Llama-3.1-8B", "bfloat16", kNotes) + row("X1", "Llama-3.1-8B", "bfloat16", kNotes) +
            row("B300", "Llama-99", "bfloat16", kNotes) + row("B300", "Llama-3.1-8B", "fp7", kNotes) +
            row("B300", "Llama-3.1-8B", "bfloat16", "x")));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"B300", "RTX-4090"}));
  EXPECT_EQ(read->left_out.at("unknown GPU 'X1'"), 3);
  EXPECT_EQ(read->left_out.at("unknown model 'Llama-99'"), 3);
  EXPECT_EQ(read->left_out.at("unknown format 'fp7'"), 3);
  EXPECT_EQ(rows_of(*read), 18);
}

TEST_F(EndToEndSources, Gpustack) {
  double value = 1;
  const auto row = [&](const char* gpu, const char* model) {
    std::string rows;
    for (const auto& [metric, figure] :
         {std::pair("ttft_mean", 20.0), {"tpot_mean", 10.0}, {"output_throughput", 380.0}, {"request_throughput", 3.8}})
      rows += fmt::format("s,{},one,1,1,,{},x,vLLM,v0.11.0,4,200,100,,{},{},x,\"1. | vllm serve {} | n=40\"\n", gpu,
                          model, metric, figure + value * 1e-3, model);
    ++value;  // figures of two pages that agree are one page's
    return rows;
  };
  const auto read = gpustack_cases(
      table(row("H100", "Qwen/Qwen3-8B") + row("B300", "Qwen/Qwen3-8B") + row("H100-LATENCY", "Qwen/Qwen3-8B") +
            row("910B", "Qwen/Qwen3-8B") + row("H100", "No/Model")),
      {{seconds(0), 10, 20}});
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"H100-SXM", "B300", "H100-SXM"}));
  EXPECT_EQ(read->left_out.at("unknown GPU '910B'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model 'No/Model'"), 1);
}

TEST_F(EndToEndSources, Silicon) {
  const std::string head =
      "silicon_data_source,backend,model_path,system,precision,mode,isl,osl,gemm_quant_mode,moe_quant_mode,batch_size,"
      "tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,prefill_num_workers,prefill_tp_size,prefill_pp_size,"
      "prefill_attention_dp_size,prefill_moe_tp_size,prefill_moe_ep_size,decode_num_workers,decode_tp_size,"
      "decode_pp_size,decode_attention_dp_size,decode_moe_tp_size,decode_moe_ep_size,silicon_ttft_ms,silicon_tpot_ms\n";
  const auto row = [](const char* engine, const char* model, const char* system, const char* format) {
    return fmt::format("csv,{},{},{},fp8,agg,1024,1024,{},{},8,1,1,,1,1,,,,,,,,,,,,,400,15\n", engine, model, system,
                       format, format);
  };
  constexpr const char* kModel = "meta-llama/Llama-3.1-8B-Instruct";
  const auto read = silicon_cases(
      folder_.plain("s.csv", head + row("trtllm", kModel, "b200_sxm", "fp8") + row("trtllm", kModel, "b300", "fp8") +
                                 row("vllm", kModel, "rtx_pro_6000_server", "fp8") +
                                 row("vllm", kModel, "x1_sxm", "fp8") + row("vllm", "no/Model", "b200_sxm", "fp8") +
                                 row("vllm", kModel, "b200_sxm", "wp7") + row("mlc", kModel, "b200_sxm", "fp8")));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(cards_of(*read), (Names{"B200", "B300", "RTX-PRO-6000-Blackwell-Server"}));
  EXPECT_EQ(read->left_out.at("unknown GPU 'x1_sxm'"), 1);
  EXPECT_EQ(read->left_out.at("unknown model 'no/Model'"), 1);
  EXPECT_EQ(read->left_out.at("unknown format 'wp7/wp7'"), 1);
  EXPECT_EQ(read->left_out.at("unknown engine 'mlc'"), 1);
}

}  // namespace
}  // namespace tilecast
