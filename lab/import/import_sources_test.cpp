// Names that a source's mapping does or does not know, and the sources that are read only when they are asked for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "kernel/conv2d.h"
#include "kernel/elementwise.h"
#include "kernel/moe.h"
#include "lab/import/import.h"
#include "lab/import/import_table.h"
#include "measure/dims.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

struct ImportedRows {
  Names names;
  std::vector<Measurement> rows;
  Result<ReadReport> report = ReadReport{};

  void read(Source source, const std::string& path) {
    report = import_rows(source, path, names, {}, [&](const Measurement& row) {
      rows.push_back(row);
      return Status(Ok{});
    });
  }
  Count left_out(const std::string& why) const {
    for (const auto& [reason, count] : report->left_out)
      if (reason == why) return count;
    return 0;
  }
};

constexpr std::string_view kGemmHead = "gpu,framework,version,kernel_source,gemm_dtype,m,n,k,latency\n";

// A hundred bad rows end the reading of a table; rows of a card from next year are not bad.
TEST(ImportSources, UnknownNamesAreCountedAndEndNothing) {
  TestFolder folder;
  std::string text(kGemmHead);
  for (int i = 1; i <= 200; ++i) text += fmt::format("x999_sxm,vllm,1,k,bfloat16,{},2,3,0.1\n", i);
  for (int i = 1; i <= 150; ++i) text += fmt::format("h100_sxm,vllm,1,k,fp7,{},2,3,0.1\n", i);
  text += "h100_sxm,vllm,1,k,bfloat16,1,2,3,0.1\n";
  ImportedRows in;
  in.read(Source::aiconfigurator, folder.plain("g.csv", text));
  ASSERT_TRUE(in.report) << in.report.error().line();
  EXPECT_EQ(in.report->rows, 1);
  EXPECT_EQ(in.report->bad, 0);
  EXPECT_EQ(in.left_out("unknown GPU 'x999_sxm'"), 200);
  EXPECT_EQ(in.left_out("unknown format 'fp7'"), 150);
}

TEST(ImportSources, TakeAnyCardOfTheRegistry) {
  TestFolder folder;
  ImportedRows in;
  in.read(Source::aiconfigurator,
          folder.plain("g.csv", std::string(kGemmHead) + "rtx_pro_6000_server,vllm,1,k,bfloat16,1,2,3,0.1\n" +
                                    "b300,vllm,1,k,bfloat16,1,2,3,0.1\n" + "gb200,vllm,1,k,bfloat16,1,2,3,0.1\n"));
  ASSERT_EQ(in.rows.size(), 3u);
  EXPECT_EQ(in.rows[0].gpu, "RTX-PRO-6000-Blackwell-Server");
  EXPECT_EQ(in.rows[1].gpu, "B300");
  EXPECT_EQ(in.rows[2].gpu, "GB200");
}

TEST(ImportSources, SynperfRefusesPassesItDoesNotKnow) {
  TestFolder folder;
  ImportedRows in;
  in.read(Source::synperf, folder.plain("m.csv",
                                        "weight_type,M,E,topk,H,N,avg_duration,hardware\n"
                                        "w13,5,8,2,64,96,7.5,NVIDIA B300\n"
                                        "w4,5,8,2,64,96,7.5,NVIDIA H20\n"
                                        "w2,5,8,2,64,96,7.5,NVIDIA H21\n"));
  ASSERT_EQ(in.rows.size(), 1u);
  EXPECT_EQ(in.rows[0].gpu, "B300");
  EXPECT_EQ(in.left_out("a pass that is neither w13 nor w2"), 1);
  EXPECT_EQ(in.left_out("unknown GPU 'NVIDIA H21'"), 1);
}

TEST(ImportSources, AiterReadsProducts) {
  TestFolder folder;
  std::string text = "kind,gpu,cu_num,batch,m,n,k,dtype_w,dtype_out,library,latency_us,err\n";
  text += "a8w8_blockscale,\"MI300X-class (gfx942, 304 CU)\",304,1,16,256,4096,fp8_e4m3,bf16,ck,13.5,0\n";
  text += "batched_bf16,MI325X,304,16,1,1280,8192,bf16,bf16,ck,111.9,\n";
  text += "a8w8_bpreshuffle,MI308X,80,1,16,256,4096,int8,bf16,asm,13.5,0\n";
  text += "a8w8_bpreshuffle,MI308X,80,1,16,256,4096,fp8_e4m3,bf16,ck,13.5,0\n";
  text += "a8w8,MI300X,304,1,16,256,4096,fp8_e4m3,bf16,ck,13.5,0.2\n";
  text += "a8w8,MI999X,304,1,16,256,4096,fp8_e4m3,bf16,ck,13.5,0\n";
  text += "a3w3,MI300X,304,1,16,256,4096,fp8_e4m3,bf16,ck,13.5,0\n";
  text += "bf16,MI300X,304,1,16,256,4096,bf16,fp32,ck,13.5,0\n";
  text += "a8w8,MI300X,304,1,16,256,4096,fp3,bf16,ck,13.5,0\n";
  ImportedRows in;
  in.read(Source::aiter, folder.plain("gemm.csv", text));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 4u);
  EXPECT_EQ(in.rows[0].gpu, "MI300X");
  EXPECT_EQ(in.rows[0].kernel.format.name, "fp8_block_static");
  EXPECT_EQ(in.rows[0].kernel_source, "a8w8_blockscale");
  EXPECT_EQ(in.rows[0].context.warmth, Warmth::cold);
  EXPECT_DOUBLE_EQ(in_microseconds(in.rows[0].latency), 13.5);
  EXPECT_EQ(in.rows[1].gpu, "MI325X");
  EXPECT_EQ(dims_text(in.rows[1].kernel.shape), "batch=16;m=1;n=1280;k=8192;layout=tn");
  EXPECT_EQ(in.rows[2].gpu, "MI308X");
  EXPECT_EQ(in.rows[2].kernel.format.name, "int8_static");
  EXPECT_EQ(in.rows[3].kernel.format.name, "fp8_static");
  EXPECT_EQ(in.left_out("unknown GPU 'MI999X'"), 1);
  EXPECT_EQ(in.left_out("unknown kind of product 'a3w3'"), 1);
  EXPECT_EQ(in.left_out("unknown format 'fp3'"), 1);
  EXPECT_EQ(in.left_out("a result that is not bf16"), 1);
  EXPECT_EQ(in.left_out("more than 5 % of the result is wrong"), 1);
}

TEST(ImportSources, AiterReadsExperts) {
  TestFolder folder;
  std::string text =
      "kind,gpu,cu_num,tokens,hidden_size,inter_size,num_experts,topk,dtype_w,quant,gated,latency_us,err1,err2\n";
  const auto row = [&](const char* kind, const char* format, const char* gated, const char* error) {
    text += fmt::format("{},MI308X,80,7,3072,384,256,8,{},{},29.9,14.4%,{}\n", kind, format, gated, error);
  };
  row("fused", "fp8_e4m3,per_1x128", "1", "16.7%");
  row("fused", "fp8_e4m3,per_Token", "1", "16.7%");
  row("hybrid", "int8,per_Tensor", "0", "");
  row("fused", "bf16,No", "1", "61%");
  row("fused", "bf16,per_Galaxy", "1", "");
  row("split", "bf16,No", "1", "");
  ImportedRows in;
  in.read(Source::aiter, folder.plain("moe.csv", text));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 3u);
  EXPECT_EQ(dims_text(in.rows[0].kernel.shape), "tokens=7;hidden=3072;inter=384;experts=256;topk=8;style=grouped");
  EXPECT_EQ(in.rows[0].kernel.format.name, "fp8_block_static");
  EXPECT_EQ(in.rows[1].kernel.format.name, "fp8_static");
  EXPECT_EQ(in.rows[2].kernel.format.name, "int8_static");
  EXPECT_FALSE(in.rows[2].kernel.shape.as<Moe>().gated);
  EXPECT_EQ(in.left_out("more than half of the result is wrong"), 1);
  EXPECT_EQ(in.left_out("unknown quantisation 'per_Galaxy'"), 1);
  EXPECT_EQ(in.left_out("unknown kind of experts 'split'"), 1);
}

TEST(ImportSources, MiopenReadsTheBestSolverOfAConvolution) {
  TestFolder folder;
  std::string text =
      "gpu,direction,dtype,layout,batch,in_channels,in_size,kernel,out_channels,pad,stride,dilation,groups,rank,solver,"
      "algorithm,latency_us\n";
  const auto row = [&](const char* direction, const char* kernel, const char* steps, const char* solver,
                       const char* layout = "NCHW") {
    text += fmt::format("\"MI300X (gfx942, 304 CU)\",{},fp16,{},16,8,112x96,{},24,{},1x1,2,{},41.7\n", direction,
                        layout, kernel, steps, solver);
  };
  row("forward", "3x3", "1x1,2x2", "1,a,GEMM");
  row("backward_data", "1x3", "0x0,1x1", "1,a,Winograd");
  row("backward_weights", "3x3", "1x1,1x1", "1,a,ImplicitGEMM");
  row("backward_weights", "3x3", "1x1,1x1", "2,b,GEMM");
  row("forward", "3x3", "0x1,1x1", "1,a,GEMM");
  row("forward", "3x3", "1x1,1x1", "1,naive,Direct");
  row("forward", "3x3", "1x1,1x1", "1,a,GEMM", "NHWC");
  row("sideways", "3x3", "1x1,1x1", "1,a,GEMM");
  row("forward", "three", "1x1,1x1", "1,a,GEMM");
  ImportedRows in;
  in.read(Source::miopen, folder.plain("conv.csv", text));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 3u);
  EXPECT_EQ(in.rows[0].gpu, "MI300X");
  EXPECT_EQ(in.rows[0].context.runtime, Runtime::eager);
  EXPECT_EQ(dims_text(in.rows[0].kernel.shape),
            "batch=16;in-channels=8;out-channels=24;height=112;width=96;kernel=3;stride=2;padding=1;groups=2");
  EXPECT_EQ(in.rows[1].kernel.shape.as<Conv2d>().kernel_w, 3);
  EXPECT_EQ(in.rows[1].kernel.shape.as<Conv2d>().backward, ConvBackward::data);
  EXPECT_EQ(in.rows[2].kernel.shape.as<Conv2d>().backward, ConvBackward::weight);
  EXPECT_EQ(in.left_out("a solver slower than the best"), 1);
  EXPECT_EQ(in.left_out("padding or steps that differ between rows and columns"), 1);
  EXPECT_EQ(in.left_out("only the naive solver was there"), 1);
  EXPECT_EQ(in.left_out("a layout that is not NCHW"), 1);
  EXPECT_EQ(in.left_out("a direction that is neither forward nor a gradient"), 1);
  EXPECT_EQ(in.report->bad, 1);
}

TEST(ImportSources, VidurReadsLayersOfABlock) {
  TestFolder folder;
  std::string text =
      "gpu,op,num_tokens,tp,hidden_size,num_heads,num_kv_heads,head_dim,intermediate_size,gated_mlp,vocab_size,norm,"
      "gemm_n,"
      "gemm_k,dtype,latency_us,latency_std_us\n";
  const auto row = [&](const char* gpu, const char* op, const char* product, const char* us, const char* gated = "1") {
    text += fmt::format("{},{},64,2,4096,32,8,128,11008,{},32768,rmsnorm,{},fp16,{},0\n", gpu, op, gated, product, us);
  };
  row("H100 SXM 80GB", "attn_pre_proj", "6144,4096", "33");
  row("H100 SXM 80GB", "input_layernorm", ",", "9");
  row("A100 SXM 80GB", "attn_rope", ",", "9");
  row("A100 SXM 80GB", "mlp_act", ",", "9");
  row("A100 SXM 80GB", "mlp_act", ",", "9", "0");
  row("A100 SXM 80GB", "emb", ",", "9");
  row("A100 SXM 80GB", "add", ",", "5");
  row("A100 SXM 80GB", "dream", ",", "9");
  row("Z9", "add", ",", "9");
  ImportedRows in;
  in.read(Source::vidur, folder.plain("ops.csv", text));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 6u);
  EXPECT_EQ(in.rows[0].gpu, "H100-SXM");
  EXPECT_EQ(dims_text(in.rows[0].kernel.shape), "m=64;n=6144;k=4096");
  EXPECT_EQ(in.rows[0].kernel.format.name, "fp16");
  EXPECT_EQ(family_of(in.rows[1].kernel.shape), "rmsnorm");
  EXPECT_EQ(in.rows[1].kernel.format.name, "bf16");  // the same bytes
  EXPECT_EQ(dims_text(in.rows[2].kernel.shape), "tokens=64;heads=16;kv-heads=4");
  EXPECT_EQ(dims_text(in.rows[3].kernel.shape), "rows=64;cols=5504");
  EXPECT_EQ(in.rows[4].kernel.shape.as<Elementwise>().elements, 64 * 5504);
  EXPECT_EQ(in.left_out("at most 5 us, and times have steps of 1 us"), 1);
  EXPECT_EQ(in.left_out("an operator Tilecast has no family for"), 1);
  EXPECT_EQ(in.left_out("unknown GPU 'Z9'"), 1);
}

TEST(ImportSources, LlmservingsimReadsLayersAndAttention) {
  TestFolder folder;
  std::string text =
      "gpu,engine,engine_version,dtype,tp,op,tokens,prefill_chunk,kv_prefill,n_decode,kv_decode,hidden_size,num_heads,"
      "num_kv_heads,head_dim,intermediate_size,num_experts,vocab_size,latency_us,protocol\n";
  const auto row = [&](const char* gpu, const char* engine, const char* op, const char* attention) {
    text += fmt::format("{},{},0.19,bf16,2,{},{},4096,32,8,128,14336,,128256,9,p\n", gpu, engine, op, attention);
  };
  row("RTX 4090", "vLLM", "qkv_proj", "5,,,,");
  row("RTX 4090", "vLLM", "attention_prefill", ",16,100,0,0");
  row("RTX 4090", "vLLM", "attention_decode", ",0,0,3,99");
  row("RTX 4090", "vLLM", "attention_mixed", ",16,0,1,16");
  row("H100", "Hugging Face eager", "o_proj", "5,,,,");
  row("H100", "Hugging Face eager", "input_layernorm", "5,,,,");
  row("H100", "llama.cpp", "o_proj", "5,,,,");
  row("RTX 3090", "Hugging Face eager", "act_fn", "5,,,,");
  ImportedRows in;
  in.read(Source::llmservingsim, folder.plain("layers.csv", text));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 5u);
  EXPECT_EQ(in.rows[4].gpu, "RTX-3090");
  EXPECT_EQ(in.rows[4].kernel.shape.as<Elementwise>().elements, 5 * 7168);
  EXPECT_EQ(dims_text(in.rows[0].kernel.shape), "m=5;n=3072;k=4096");
  EXPECT_EQ(dims_text(in.rows[1].kernel.shape), "q-len=16;kv-len=116;heads=16;kv-heads=4");
  EXPECT_EQ(dims_text(in.rows[2].kernel.shape), "batch=3;kv-len=99;heads=16;kv-heads=4");
  EXPECT_EQ(in.rows[3].gpu, "H100-SXM");
  EXPECT_EQ(in.rows[3].engine, "pytorch");
  EXPECT_EQ(dims_text(in.rows[3].kernel.shape), "m=5;n=4096;k=2048");
  EXPECT_EQ(in.left_out("prompts and answers in one call of attention"), 1);
  EXPECT_EQ(in.left_out("unknown engine 'llama.cpp'"), 1);
}

TEST(ImportSources, TablesAreToldApartByTheirColumns) {
  TestFolder folder;
  Names names;
  const std::map<std::string, std::string> tables = {
      {"synperf", "M,N,K,avg_duration,hardware\n96,64,32,27,NVIDIA H20\n"},
      {"aiter", "kind,gpu,cu_num,batch,m,n,k,dtype_w,dtype_out,latency_us,err\nbf16,MI300X,304,1,1,2,3,bf16,bf16,9,\n"},
      {"aiconfigurator", std::string(kGemmHead) + "h100_sxm,vllm,1,k,bfloat16,1,2,3,0.1\n"}};
  for (const auto& [source, text] : tables) {
    std::string_view found;
    const auto read = read_any(folder.plain(source + ".csv", text), names, {}, [&](const Measurement& row) {
      found = row.source;
      return Status(Ok{});
    });
    ASSERT_TRUE(read) << read.error().line();
    EXPECT_EQ(found, source);
  }
}

// What the shipped weights are trained on: a source that is not named stays out.
TEST(ImportSources, AFolderIsReadByDefaultAsItAlwaysWas) {
  TestFolder folder;
  for (const char* path : {"aiconfigurator", "neusight/kernels_train", "neusight/kernels_test", "synperf", "aiter"})
    std::filesystem::create_directories(folder.file(path));
  for (const char* path :
       {"aiconfigurator/gemm.csv.gz", "aiconfigurator/power_gemm.csv.gz", "aiconfigurator/nccl.csv.gz",
        "aiconfigurator/custom_allreduce.csv.gz", "aiconfigurator/mla_context_module.csv.gz",
        "aiconfigurator/e2e_silicon_sample.csv.gz", "aiconfigurator/trtllm_alltoall.csv.gz",
        "aiconfigurator/deepep_ll.csv.gz", "neusight/kernels_train/bmm.csv.gz", "neusight/kernels_test/bmm.csv.gz",
        "neusight/kernels_test/_neusight_pred_subset.csv.gz", "synperf/gemm_fp8_train.csv.gz", "synperf/README.md",
        "aiter/gemm.csv.gz", "aiter/moe_candidates.csv.gz"})
    folder.plain(path, "");
  const auto list = [&](const std::vector<std::string>& sources) {
    std::vector<std::string> names;
    const auto paths = tables_of_sources(folder.file(""), sources);
    EXPECT_TRUE(paths) << paths.error().line();
    if (paths)
      for (const std::string& path : *paths) names.push_back(std::filesystem::relative(path, folder.file("")).string());
    return names;
  };
  EXPECT_EQ(list({}), (std::vector<std::string>{"aiconfigurator/gemm.csv.gz", "neusight/kernels_test/bmm.csv.gz",
                                                "neusight/kernels_train/bmm.csv.gz", "synperf/gemm_fp8_train.csv.gz"}));
  EXPECT_EQ(list({"aiter"}), std::vector<std::string>{"aiter/gemm.csv.gz"});
  EXPECT_EQ(list({"Aiter", "synperf"}).size(), 2u);
  EXPECT_FALSE(tables_of_sources(folder.file(""), {"vidur"}));    // not there
  EXPECT_FALSE(tables_of_sources(folder.file(""), {"nowhere"}));  // no source
}

TEST(ImportSources, EveryMappingSaysWhereItComesFrom) {
  for (std::size_t i = 0; i < kSources; ++i) {
    const SourceMapping& source = mapping_of(static_cast<Source>(i));
    for (const std::string_view text : {source.name, source.from, source.licence, source.protocol.how})
      EXPECT_FALSE(text.empty()) << source.name;
    EXPECT_FALSE(source.files.empty()) << source.name;
    for (const SourceColumn& column : source.columns) EXPECT_FALSE(column.meaning.empty()) << column.name;
    for (const auto& rules : {source.gpus, source.formats, source.engines})
      for (const NameRule& rule : rules) EXPECT_NE(rule.ours.empty(), rule.why_not.empty()) << rule.theirs;
    for (const NameRule& rule : source.gpus) EXPECT_TRUE(rule.ours.empty() || built_in_gpu(rule.ours)) << rule.ours;
    EXPECT_EQ(*source_from(source.name), static_cast<Source>(i));
  }
}

// The shared rows: nothing of the published tables is bad, and what is left out is left out by name.
TEST(ImportSources, ReadThePublishedTables) {
  const std::string folder = TILECAST_SOURCE_DIR "/../shared/data";
  if (!std::filesystem::exists(folder + "/aiter")) GTEST_SKIP() << "needs ../shared/data/aiter";
  for (const Source source : {Source::aiter, Source::vidur, Source::llmservingsim, Source::miopen}) {
    const auto files = files_of(mapping_of(source), folder);
    ASSERT_TRUE(files) << files.error().line();
    for (const std::string& file : *files) {
      ImportedRows in;
      in.read(source, file);
      ASSERT_TRUE(in.report) << in.report.error().line();
      EXPECT_EQ(in.report->bad, 0) << file << ": " << in.report->problems.front();
      EXPECT_GT(in.report->rows, 50) << file;
    }
  }
}

}  // namespace
}  // namespace tilecast
