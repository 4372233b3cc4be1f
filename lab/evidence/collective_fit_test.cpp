#include "lab/fit/collective_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "cluster/collective_physics.h"
#include "cluster/registry.h"
#include "lab/evidence/collective_report.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

// Rows of machines that follow the model: a latency each, a share of the link each, one smooth curve.
std::vector<CollectiveRow> made_up() {
  struct Machine {
    const char* gpu;
    double slower, share;
  };
  std::vector<CollectiveRow> rows;
  for (const Machine& m : {Machine{"H100-SXM", 1.0, 0.8}, Machine{"H200-SXM", 1.1, 0.8}, Machine{"B200", 1.5, 0.7},
                           Machine{"A100-SXM-80GB", 1.3, 0.75}})
    for (const int ranks : {2, 4})
      for (double size = 256; size <= 1 << 30; size *= 2) {
        CollectiveRow row;
        row.gpu = m.gpu;
        row.source = kPlainSource;
        row.call.op = CollectiveOp::all_gather;
        row.call.bytes = bytes(size);
        row.call.ranks = ranks;
        const Flow flow = nccl_flow(row.call, *built_in_cluster_of(row.gpu));
        row.measured = flow.empty * m.slower + flow.wire / m.share;
        rows.push_back(row);
      }
  return rows;
}

double mean_error(const std::vector<CollectiveRow>& rows, const std::vector<CollectiveOutcome>& outcomes) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += std::abs(outcomes[i].forecast / rows[i].measured - 1);
  return sum / static_cast<double>(rows.size());
}

TEST(CollectiveFit, FindsWhatRowsWereMadeOf) {
  auto judged = judge_collectives(made_up());
  ASSERT_TRUE(judged.ok()) << judged.error().line();
  EXPECT_LT(mean_error(judged->rows, judged->seen), 0.02);
  // Left out, a GPU has its sibling's or the mean of the others' scales: within what they differ by.
  EXPECT_LT(mean_error(judged->rows, judged->without_gpu), 0.2);
  const auto latency = [&](const char* gpu) {
    return judged->constants.machines.at({gpu, std::string(kPlainSource), "nccl"}).latency;
  };
  EXPECT_NEAR(latency("B200") - latency("H100-SXM"), std::log2(1.5), 0.05);
  EXPECT_THAT(collective_report(*judged),
              HasSubstr("0 forecasts lie below their bound, of every row at its three standings; 0 of"));
}

// Exchanges of machines that follow the model: a latency each, a share of the links each.
TEST(CollectiveFit, FindsWhatExchangesWereMadeOf) {
  std::vector<CollectiveRow> rows;
  for (const auto& [gpu, slower, share] :
       {std::tuple("H100-SXM", 1.0, 0.8), std::tuple("H200-SXM", 1.1, 0.8), std::tuple("B200", 1.5, 0.7)})
    for (const ExchangeOp op : {ExchangeOp::dispatch, ExchangeOp::combine})
      for (int tokens = 1; tokens <= 1 << 17; tokens *= 2) {
        CollectiveRow row;
        row.gpu = gpu;
        row.source = kPlainSource;
        row.exchange = ExpertExchange{};
        row.exchange->op = op;
        row.exchange->tokens = tokens;
        const Flow flow = exchange_flow(*row.exchange, *built_in_cluster_of(gpu));
        row.measured = flow.empty * slower + flow.wire / share;
        rows.push_back(row);
      }
  const auto judged = judge_collectives(rows);
  ASSERT_TRUE(judged.ok()) << judged.error().line();
  EXPECT_LT(mean_error(judged->rows, judged->seen), 0.02);
  EXPECT_LT(mean_error(judged->rows, judged->without_gpu), 0.2);
  EXPECT_THAT(collective_report(*judged), HasSubstr("| deepep_normal | 3 |"));
}

TEST(CollectiveFit, HeldOutAndApartRowsTeachNothing) {
  auto rows = made_up();
  const std::string before = comm_constants_text(fit_collectives(rows));
  int held = 0;
  for (CollectiveRow& row : rows)
    if (is_held_out(row)) {
      row.measured *= 100;
      ++held;
    }
  EXPECT_GT(held, 0);
  CollectiveRow apart = rows.front();
  apart.gpu = "L40S";
  apart.call.ranks = 4;
  rows.push_back(apart);
  EXPECT_EQ(comm_constants_text(fit_collectives(rows)), before);
}

TEST(CollectiveFit, OneRunThatWentAstrayChangesLittle) {
  auto rows = made_up();
  const auto h100 = built_in_cluster_of("H100-SXM");
  CollectiveRow* stray = nullptr;
  for (CollectiveRow& row : rows)
    if (row.gpu == "H100-SXM" && row.call.bytes == kibibytes(4) && row.call.ranks == 4) stray = &row;
  ASSERT_TRUE(stray && !is_held_out(*stray));
  Collective longer = stray->call;
  longer.bytes = kibibytes(64);
  const Seconds before = forecast_collective(longer, *h100, fit_collectives(rows))->latency;
  stray->measured *= 10;
  const Seconds after = forecast_collective(longer, *h100, fit_collectives(rows))->latency;
  EXPECT_NEAR(after / before, 1, 0.1);
}

TEST(CollectiveRows, ReadTheSources) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.file("aiconfigurator"));
  std::filesystem::create_directories(folder.file("synperf/collective"));
  folder.gzip(
      "aiconfigurator/nccl.csv.gz",
      "gpu,op_name,nccl_dtype,num_gpus,message_size,latency\n"
      "h100_sxm,alltoall,half,8,1024,0.02\nb60,all_gather,half,2,1024,1\nh100_sxm,all_gather,int8,2,128,1\n"
      "x1_sxm,alltoall,half,8,1024,0.02\nh100_sxm,gather_all,half,8,1024,0.02\nb300,alltoall,half,8,1024,0.02\n");
  folder.gzip("aiconfigurator/custom_allreduce.csv.gz",
              "gpu,framework,kernel_source,num_gpus,message_size,latency\n"
              "a100_sxm,sglang,SGLang_CustomAllReduce_eager,2,128,0.04\n");
  folder.gzip("synperf/collective/H20_send_recv.csv.gz",
              "time_stats.send_recv.median,num_workers,size\n0.005,2,2048\n");
  folder.gzip("aiconfigurator/deepep_normal.csv.gz",
              "gpu,version,node_num,hidden_size,num_token,num_topk,num_experts,dispatch_sms,dispatch_transmit_us,"
              "dispatch_notify_us,combine_sms,combine_transmit_us,combine_notify_us\n"
              "h100_sxm,0.5.6.post2,2,7168,16,8,256,24,31,30.5,24,62,31.75\n"
              "h100_sxm,0.5.6.post2,8,7168,4096,8,256,24,5447,1233,24,4475,8313\n"
              "h200_sxm,0.5.6.post2,2,7168,16,8,256,24,31,30.5,24,62,31.75\n");
  folder.gzip("aiconfigurator/deepep_ll.csv.gz",
              "gpu,version,node_num,hidden_size,num_token,num_topk,num_experts,combine_avg_t_us,dispatch_avg_t_us\n"
              "gb200,0.5.12,1,4096,17,6,128,21,20\n");
  folder.gzip("aiconfigurator/trtllm_alltoall.csv.gz",
              "gpu,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,topk,num_experts,moe_ep_size,latency\n"
              "gb200,alltoall_dispatch,NVLinkTwoSided,fp8,64,7168,8,256,32,0.0193\n"
              "gb200,alltoall_combine,NVLinkOneSided,nvfp4,64,7168,8,256,4,0.0203\n"
              "gb200,alltoall_combine_low_precision,NVLinkTwoSided,nvfp4,64,7168,8,256,4,0.0218\n");
  LeftOutRows left_out;
  auto rows = read_collectives(folder.file(""), &left_out);
  ASSERT_TRUE(rows.ok()) << rows.error().line();
  EXPECT_EQ(left_out.at("unknown GPU 'x1_sxm'"), 1);
  EXPECT_EQ(left_out.at("'b60': oneCCL, a library of other collectives"), 1);
  EXPECT_EQ(left_out.at("messages of less than 256 B or more than 1 GiB"), 1);
  EXPECT_EQ(left_out.at("H100's rows under H200's name"), 1);
  EXPECT_EQ(left_out.at("eight nodes of a network at a third of its peak"), 1);
  EXPECT_EQ(left_out.at("unknown collective 'gather_all'"), 1);
  ASSERT_EQ(rows->size(), 11U);  // oneCCL's row is not NCCL's; 128 B are too few; H200's repeats H100's
  EXPECT_EQ((*rows)[1].gpu, "B300");
  rows->erase(rows->begin() + 1);
  const auto first = rows->begin() + 2, last = rows->begin() + 9;
  const std::vector<CollectiveRow> exchanges(first, last);
  rows->erase(first, last);
  EXPECT_EQ((*rows)[0].call.op, CollectiveOp::all_to_all);
  EXPECT_DOUBLE_EQ(in_bytes((*rows)[0].call.bytes), 2048);
  EXPECT_DOUBLE_EQ(in_microseconds((*rows)[0].measured), 20);
  EXPECT_EQ((*rows)[1].call.library, CommLibrary::sglang);
  EXPECT_TRUE((*rows)[1].call.eager);
  EXPECT_EQ((*rows)[2].gpu, "H20");
  EXPECT_EQ((*rows)[2].call.op, CollectiveOp::send_recv);
  const auto& normal = exchanges[0];
  EXPECT_EQ(normal.exchange->ranks, 16);
  EXPECT_EQ(normal.exchange->most_nodes, 4);
  EXPECT_EQ(normal.exchange->sms, 24);
  EXPECT_DOUBLE_EQ(in_microseconds(normal.measured), 61.5);  // both kernels
  EXPECT_TRUE(is_held_out(normal));
  EXPECT_EQ(exchanges[1].exchange->op, ExchangeOp::combine);
  EXPECT_DOUBLE_EQ(in_microseconds(exchanges[1].measured), 93.75);
  EXPECT_EQ(exchanges[2].exchange->kind, ExchangeKind::deepep_ll);
  EXPECT_EQ(exchanges[2].exchange->ranks, 4);  // a tray of GB200
  EXPECT_DOUBLE_EQ(in_microseconds(exchanges[2].measured), 20);
  EXPECT_FALSE(is_held_out(exchanges[2]));
  EXPECT_EQ(exchanges[4].exchange->kind, ExchangeKind::trtllm_two_sided);
  EXPECT_DOUBLE_EQ(exchanges[4].exchange->element(), 1);
  EXPECT_NEAR(in_microseconds(exchanges[4].measured), 19.3, 1e-9);
  EXPECT_DOUBLE_EQ(exchanges[5].exchange->element(), 2);  // experts give bf16 back
  EXPECT_DOUBLE_EQ(exchanges[6].exchange->element(), kNvfp4Element);
  folder.gzip("aiconfigurator/nccl.csv.gz",
              "gpu,op_name,nccl_dtype,num_gpus,message_size,latency\nh100_sxm,alltoall,half,8,1024,-1\n");
  EXPECT_THAT(read_collectives(folder.file("")).error().line(),
              HasSubstr("nccl.csv.gz:2: is not a positive number: '-1'"));
}

// On what is shipped: no measured row beats its bound, and seen machines are within 8 %.
TEST(CollectiveData, MeasuredRowsKeepTheBoundAndTheTarget) {
  const std::string folder = TILECAST_SOURCE_DIR "/../shared/data";
  if (!std::filesystem::exists(folder + "/aiconfigurator/nccl.csv.gz")) GTEST_SKIP() << "needs ../shared/data";
  const auto rows = read_collectives(folder);
  ASSERT_TRUE(rows.ok()) << rows.error().line();
  const auto outcomes = forecast_rows_of(*rows, shipped_comm_constants());
  ASSERT_TRUE(outcomes.ok()) << outcomes.error().line();
  double sum = 0;
  int held = 0;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    EXPECT_GE((*rows)[i].measured, (*outcomes)[i].bound) << (*rows)[i].gpu << " " << in_bytes((*rows)[i].call.bytes);
    EXPECT_GE((*outcomes)[i].forecast, (*outcomes)[i].bound);
    if (!is_held_out((*rows)[i]) || is_apart((*rows)[i]) || (*rows)[i].exchange ||
        (*rows)[i].call.library != CommLibrary::nccl)
      continue;
    sum += std::abs((*outcomes)[i].forecast / (*rows)[i].measured - 1);
    ++held;
  }
  EXPECT_GT(held, 500);
  EXPECT_LT(sum / held, 0.08);
}

}  // namespace
}  // namespace tilecast
