#include "lab/import/import.h"

#include "kernel/elementwise.h"
#include "kernel/moe.h"
#include "kernel/quantize.h"
#include "kernel/scan.h"
#include "measure/measurement_writer.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

struct Imported {
  Names names;
  std::vector<Measurement> rows;
  Result<ReadReport> report = ReadReport{};
};
void import_into(Imported& out, Source source, const std::string& path, ReadOptions options = {}) {
  out.report = import_rows(source, path, out.names, options, [&](const Measurement& row) {
    out.rows.push_back(row);
    return Status(Ok{});
  });
}

constexpr std::string_view kGemm =
    "gpu,framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
    "a100_sxm,vllm,0.14.0,NVIDIA A100-SXM4-80GB,gemm,vllm_default,bfloat16,17,4096,1024,0.0125\n"
    "l40s,trtllm,1.3.0rc20,NVIDIA L40S,gemm,torch_flow,fp8,1,8192,4096,0.05\n"
    "b200_sxm,sglang,0.5.14,NVIDIA B200,gemm,x,sq,8,64,32,0.002\n";

TEST(ImportAiconfigurator, ReadsProductsWithTheirRotation) {
  TestFolder folder;
  Imported in;
  import_into(in, Source::aiconfigurator, folder.gzip("gemm.csv.gz", kGemm));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 3u);
  const Measurement& first = in.rows[0];
  EXPECT_EQ(first.gpu, "A100-SXM-80GB");
  EXPECT_EQ(first.source, "aiconfigurator");
  EXPECT_EQ(dims_text(first.kernel.shape), "m=17;n=4096;k=1024");
  EXPECT_EQ(first.kernel.format.name, "bf16");
  EXPECT_DOUBLE_EQ(in_microseconds(first.latency), 12.5);
  EXPECT_EQ(first.context.weight_copies, 6);
  EXPECT_EQ(first.context.activation_copies, 1);
  EXPECT_EQ(first.context.warmth, Warmth::warm);
  EXPECT_EQ(first.context.engine, Launcher::vllm);
  EXPECT_EQ(first.context.kernel_source.text(), "vllm_default");
  EXPECT_EQ(first.line, 2);
  // TensorRT-LLM: L40S has 96 MiB of L2, the weights take 32 MiB: three copies cover it.
  EXPECT_EQ(in.rows[1].context.weight_copies, 3);
  EXPECT_EQ(in.rows[2].context.weight_copies, 6);
  EXPECT_EQ(in.rows[2].context.activation_copies, 6);
  EXPECT_EQ(in.rows[2].kernel.format.name, "int8");
}

TEST(ImportAiconfigurator, ReadsAttentionOfEveryKind) {
  TestFolder folder;
  Imported in;
  import_into(
      in, Source::aiconfigurator,
      folder.plain("a.csv",
                   "gpu,framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,"
                   "head_dim,beam_width,attn_dtype,kv_cache_dtype,step,window_size,latency\n"
                   "h100_sxm,vllm,1,d,context_attention,vllm_flash_attn_fa3,2,64,8,2,128,1,bfloat16,fp8,0,,0.1\n"
                   "h100_sxm,trtllm,1,d,generation_attention,torch_flow,4,1,8,2,64,1,bfloat16,bfloat16,127,128,0.1\n"));
  import_into(
      in, Source::aiconfigurator,
      folder.plain("e.csv",
                   "gpu,framework,version,kernel_source,batch_size,isl,num_heads,head_dim,attn_dtype,latency,power,"
                   "power_limit\nb200_sxm,vllm,1,k,3,13,16,72,bfloat16,0.1,900,1000\n"));
  import_into(
      in, Source::aiconfigurator,
      folder.plain("m.csv",
                   "gpu,framework,version,device,op_name,kernel_source,mla_dtype,kv_cache_dtype,num_heads,batch_size,"
                   "isl,tp_size,step,latency\n"
                   "gb200,sglang,1,d,mla_generation,trtllm_mla,bfloat16,fp8,16,32,1,8,4095,0.1\n"
                   "gb200,sglang,1,d,mla_context,trtllm_mla,bfloat16,fp8,16,2,512,8,0,0.1\n"));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 5u);
  EXPECT_EQ(dims_text(in.rows[0].kernel.shape), "batch=2;q-len=64;heads=8;kv-heads=2;algorithm=fa3;kv-dtype=fp8");
  EXPECT_EQ(family_of(in.rows[1].kernel.shape), "attention_decode");
  EXPECT_EQ(dims_text(in.rows[1].kernel.shape), "batch=4;kv-len=128;heads=8;kv-heads=2;head-dim=64;window=128");
  EXPECT_EQ(dims_text(in.rows[2].kernel.shape), "batch=3;q-len=13;heads=16;head-dim=72;mask=full");
  EXPECT_EQ(in.rows[2].source, "aiconfigurator-power");
  EXPECT_EQ(family_of(in.rows[3].kernel.shape), "mla_decode");
  EXPECT_EQ(dims_text(in.rows[3].kernel.shape), "batch=32;kv-len=4096;heads=16;kv-dtype=fp8");
  EXPECT_EQ(family_of(in.rows[4].kernel.shape), "mla_prefill");
  EXPECT_EQ(dims_text(in.rows[4].kernel.shape), "batch=2;q-len=512;heads=16;kv-dtype=fp8");
}

TEST(ImportAiconfigurator, ReadsMixturesOfExperts) {
  TestFolder folder;
  Imported in;
  import_into(
      in, Source::aiconfigurator,
      folder.plain("moe.csv",
                   "gpu,framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,"
                   "topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n"
                   "h200_sxm,sglang,1,d,moe,sglang_fused_moe_triton,bfloat16,7,2048,768,8,128,2,4,power_law_1.01,0.1\n"
                   "h200_sxm,vllm,1,d,moe,k,nvfp4,7,2688,1856,6,128,1,1,balanced,0.1\n"
                   "h200_sxm,vllm,1,d,moe,k,nvfp4,7,2688,1856,6,128,1,1,uneven,0.1\n"));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 2u);
  EXPECT_EQ(
      dims_text(in.rows[0].kernel.shape),
      "tokens=7;hidden=2048;inter=768;experts=128;topk=8;tp=2;ep=4;distribution=power_law;alpha=1.01;style=triton");
  EXPECT_FALSE(in.rows[1].kernel.shape.as<Moe>().gated);
  EXPECT_EQ(in.report->bad, 1);
}

TEST(ImportAiconfigurator, ReadsScansQuantisationAndAbsorbedProducts) {
  TestFolder folder;
  Imported in;
  import_into(
      in, Source::aiconfigurator,
      folder.plain("gdn.csv",
                   "gpu,framework,version,device,op_name,kernel_source,phase,batch_size,seq_len,num_tokens,d_model,"
                   "d_conv,num_k_heads,head_k_dim,num_v_heads,head_v_dim,model_name,latency\n"
                   "l40s,vllm,1,d,gdn,chunk_gated_delta_rule_flashinfer,context,2,64,128,1024,4,2,128,4,128,q,0.1\n"
                   "l40s,trtllm,1,d,gdn,causal_conv1d_fn,context,2,64,128,1024,4,2,128,4,128,q,0.1\n"
                   "l40s,trtllm,1,d,gdn,unheard_of,context,2,64,128,1024,4,2,128,4,128,q,0.1\n"));
  EXPECT_EQ(in.report->left_out.size(), 1u);
  import_into(in, Source::aiconfigurator,
              folder.plain("q.csv",
                           "gpu,framework,version,device,op_name,kernel_source,m,k,quant_dtype,latency\n"
                           "l40s,sglang,1,d,compute_scale,sglang,1,32,fp8,0\n"
                           "l40s,sglang,1,d,compute_scale,sglang,1,64,fp8,0.001\n"
                           "l40s,sglang,1,d,scale_matrix,sglang,1,32,fp8,0.002\n"));
  ASSERT_TRUE(in.report);
  EXPECT_EQ(in.report->left_out.at(0).second, 1);
  import_into(in, Source::aiconfigurator,
              folder.plain("b.csv",
                           "gpu,framework,version,device,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency\n"
                           "l40s,sglang,1,d,mla_gen_pre,default,bfloat16,5,16,0.002\n"
                           "l40s,sglang,1,d,mla_gen_post,default,bfloat16,5,16,0.002\n"));
  ASSERT_EQ(in.rows.size(), 6u);
  const Scan& chunked = in.rows[0].kernel.shape.as<Scan>();
  EXPECT_EQ(chunked.kind, ScanKind::chunk_gated_delta);
  EXPECT_TRUE(chunked.fused);
  EXPECT_EQ(chunked.heads, 4);
  EXPECT_EQ(in.rows[1].kernel.shape.as<Scan>().channels, 2 * 128);
  EXPECT_EQ(in.rows[2].source, "aiconfigurator-difference");
  EXPECT_EQ(in.rows[3].kernel.shape.as<Quantize>().part, QuantizePart::apply);
  EXPECT_EQ(dims_text(in.rows[4].kernel.shape), "batch=16;m=5;n=512;k=128");
  EXPECT_EQ(dims_text(in.rows[5].kernel.shape), "batch=16;m=5;n=128;k=512");
}

TEST(ImportAiconfigurator, LeavesOutWhatIsNoKernel) {
  TestFolder folder;
  Imported in;
  import_into(
      in, Source::aiconfigurator,
      folder.plain("nccl.csv",
                   "gpu,framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n"
                   "a100_sxm,nccl,2,d,all_gather,NCCL,half,2,256,0.1\n"));
  ASSERT_TRUE(in.report);
  EXPECT_EQ(in.rows.size(), 0u);
  ASSERT_EQ(in.report->left_out.size(), 1u);
}

constexpr std::string_view kNeusight =
    "device,op,split,torch,cuda,cudnn,B,M,N,K,latency_ms,tile1,tile2,warps_per_sm,blocks_per_sm,grid_x,grid_y,grid_z,"
    "block_x,"
    "block_y,block_z,kernel,n_kernels,kernels_other,in_neusight_train\n"
    "NVIDIA A100-PCIE-40GB,linear,train,p2.1.0,cu121,8902,1,58,13,141,0.0545,32,128,0.4,0.05,5,1,1,256,1,1,"
    "ampere_sgemm_32x128_tn,1,,1\n"
    "Tesla P4,bmm,test,p2.1.0,cu121,8902,384,128,64,128,0.1,32,128,1,1,4,1,384,256,1,1,maxwell_sgemm_32x128_nn,,,0\n"
    "AMD Instinct MI100,linear,test,p2.1.0,cu121,8902,1,8,4,2,0.1,,,,,,,,,,,,,,0\n";

TEST(ImportNeusight, KnowsThatNIsTheReduction) {
  TestFolder folder;
  Imported in;
  import_into(in, Source::neusight, folder.plain("linear.csv", kNeusight));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 3u);
  const Measurement& linear = in.rows[0];
  EXPECT_EQ(linear.gpu, "A100-PCIe-40GB");
  EXPECT_EQ(dims_text(linear.kernel.shape), "m=58;n=141;k=13");
  EXPECT_EQ(linear.source, "neusight-train");
  EXPECT_EQ(linear.engine_version, "2.1.0");
  EXPECT_EQ(linear.kernel_source, "ampere_sgemm_32x128_tn");
  EXPECT_EQ(linear.kernel.format.name, "fp32");
  EXPECT_EQ(linear.context.runtime, Runtime::eager);
  EXPECT_EQ(linear.observed.ctas, 5);
  EXPECT_EQ(linear.observed.threads, 256);
  EXPECT_EQ(linear.observed.tile_n, 32);
  EXPECT_EQ(linear.observed.tile_m, 128);
  EXPECT_EQ(dims_text(in.rows[1].kernel.shape), "batch=384;m=128;n=128;k=64");
  EXPECT_EQ(in.rows[1].source, "neusight-test");
  EXPECT_FALSE(in.rows[2].observed.has_grid());
}

TEST(ImportNeusight, ReadsVectorOperatorsAndConvolutions) {
  TestFolder folder;
  Imported in;
  const std::string head =
      "device,op,split,torch,cuda,cudnn,B,H,latency_ms,tile1,tile2,grid_x,grid_y,grid_z,block_x,block_y,"
      "block_z,kernel,n_kernels\n";
  const std::string name =
      "\"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float)\"";
  import_into(in, Source::neusight,
              folder.plain("v.csv", head + "Tesla T4,addu,train,p2.1.0,c,8,16,4,0.02,512,0,1,1,1,128,1,1,k,\n" +
                                        "Tesla T4,ln,train,p2.1.0,c,8,16,4,0.02,4,0,16,1,1,32,4,1," + name + ",\n" +
                                        "Tesla T4,softmax,train,p2.1.0,c,8,16,4,0.02,4,0,16,1,1,32,4,1,k,\n" +
                                        "Tesla T4,erf,train,p2.1.0,c,8,16,4,0.02,4,0,16,1,1,32,4,1,k,\n"));
  ASSERT_TRUE(in.report) << in.report.error().line();
  ASSERT_EQ(in.rows.size(), 3u);
  EXPECT_EQ(in.report->left_out.size(), 1u);
  EXPECT_EQ(in.rows[0].kernel.shape.as<Elementwise>().elements, 64);
  EXPECT_EQ(in.rows[0].kernel.shape.as<Elementwise>().inputs, 1);
  EXPECT_EQ(in.rows[0].observed.cta_elements, 512);
  EXPECT_EQ(in.rows[0].observed.rows, 16);
  EXPECT_EQ(in.rows[0].observed.cols, 4);
  EXPECT_FALSE(in.rows[0].observed.has_tile());
  EXPECT_EQ(in.rows[1].kernel_source, "vectorized_layer_norm_kernel");
  EXPECT_EQ(family_of(in.rows[1].kernel.shape), "layernorm");
  EXPECT_EQ(dims_text(in.rows[2].kernel.shape), "rows=16;cols=4");
  import_into(in, Source::neusight,
              folder.plain("c.csv",
                           "device,op,split,torch,b,input_channel,output_channel,kernel_size,input_size,stride,padding,"
                           "latency_ms,tile1,tile2,grid_x,grid_y,grid_z,block_x,block_y,block_z,kernel,n_kernels\n"
                           "Tesla T4,conv,train,p2.1.0,38,893,326,3,5,1,1,0.9,,,30,11,1,8,8,1,k,1\n"));
  ASSERT_EQ(in.rows.size(), 4u);
  EXPECT_EQ(dims_text(in.rows[3].kernel.shape),
            "batch=38;in-channels=893;out-channels=326;height=5;width=5;kernel=3;padding=1");
}

TEST(ImportSynperf, ReadsProductsAndOnePassOfMoe) {
  TestFolder folder;
  Imported in;
  import_into(in, Source::synperf,
              folder.plain("g.csv", "M,N,K,avg_duration,hardware\n96,6144,2560,27.17,NVIDIA H20\n"));
  ASSERT_EQ(in.rows.size(), 1u);
  EXPECT_EQ(in.rows[0].gpu, "H20");
  EXPECT_DOUBLE_EQ(in_microseconds(in.rows[0].latency), 27.17);
  Imported moe;
  const std::string head = "weight_type,M,E,topk,H,N,avg_duration,hardware\n";
  import_into(moe, Source::synperf,
              folder.plain("m.csv", head + "w13,5,8,2,64,96,7.5,NVIDIA H20\nw2,5,8,2,64,96,7.5,NVIDIA L20\n"));
  ASSERT_EQ(moe.rows.size(), 2u);
  EXPECT_EQ(dims_text(moe.rows[0].kernel.shape), "tokens=5;hidden=64;inter=96;experts=8;topk=2;style=triton;pass=up");
  EXPECT_EQ(moe.rows[1].kernel.shape.as<Moe>().pass, MoePass::down);
  EXPECT_EQ(moe.rows[0].kernel.format.name, "bf16");
  EXPECT_EQ(moe.rows[0].engine, "sglang");
  EXPECT_DOUBLE_EQ(in_microseconds(moe.rows[0].latency), 7.5);
}

TEST(Import, NamesTheMissingColumnAndTheBadRow) {
  TestFolder folder;
  Imported in;
  import_into(in, Source::aiconfigurator,
              folder.plain("g.csv", "gpu,framework,version,kernel_source,gemm_dtype,m,k,latency\n"));
  ASSERT_FALSE(in.report);
  EXPECT_NE(in.report.error().line().find("g.csv: n: the table has no such column"), std::string::npos)
      << in.report.error().line();
  const std::string head = "gpu,framework,version,kernel_source,gemm_dtype,m,n,k,latency\n";
  const std::string path =
      folder.plain("bad.csv", head + "h100_sxm,vllm,1,k,bfloat16,1,2,3,0.1\n" + "h999,vllm,1,k,bfloat16,1,2,3,0.1\n" +
                                  "h100_sxm,vllm,1,k,bfloat16,1.5,2,3,0.1\n" +
                                  "h100_sxm,vllm,1,k,bfloat16,0,2,3,0.1\n" + "h100_sxm,vllm,1,k,bfloat16,1,2,3,-0.1\n");
  import_into(in, Source::aiconfigurator, path);
  ASSERT_TRUE(in.report);
  EXPECT_EQ(in.report->rows, 1);
  ASSERT_EQ(in.report->bad, 3);
  EXPECT_NE(in.report->problems[0].find("bad.csv:4: m: must be a whole number, not '1.5'"), std::string::npos)
      << in.report->problems[0];
  ASSERT_EQ(in.report->left_out.size(), 1u);
  EXPECT_EQ(in.report->left_out[0].first, "unknown GPU 'h999'");
  import_into(in, Source::aiconfigurator, path, {.most_bad = 1, .most_reported = 5});
  EXPECT_FALSE(in.report);
}

TEST(Import, MakesOneTableOfManyFilesAndReadsItBack) {
  TestFolder folder;
  const std::string gemm = folder.gzip("gemm.csv.gz", kGemm);
  const std::string out = folder.file("out.csv.gz");
  auto report = import_files(Source::aiconfigurator, {gemm, gemm}, out, {});
  ASSERT_TRUE(report) << report.error().line();
  EXPECT_EQ(report->rows, 6);
  Names names;
  std::vector<Measurement> rows;
  auto read = read_any(out, names, {}, [&](const Measurement& row) {
    rows.push_back(row);
    return Status(Ok{});
  });
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[1].context.weight_copies, 3);
  EXPECT_DOUBLE_EQ(in_microseconds(rows[0].latency), 12.5);
  // A file that cannot be read leaves no half-written table.
  EXPECT_FALSE(import_files(Source::aiconfigurator, {gemm, folder.file("none.csv")}, folder.file("other.csv"), {}));
  EXPECT_EQ(folder.files(), 2u);
}

}  // namespace
}  // namespace tilecast
