#include "tilecast/collective.h"

#include "api/arguments_testing.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const CollectiveQuery kReduce{.op = "all_reduce", .bytes = gibibytes(1), .cluster = "hgx-h100"};
const CollectiveQuery kDispatch{.op = "dispatch", .tokens = 128, .cluster = "hgx-h100-8", .ranks = 8};

TEST(CollectiveApi, BoundsByHand) {
  CollectiveQuery query = kReduce;
  query.ranks = 16;  // two nodes: what leaves one shares eight cards of 50 GB/s, after 2.7 us
  const auto two_nodes = forecast(query);
  ASSERT_TRUE(two_nodes.ok()) << two_nodes.error().line();
  EXPECT_NEAR(in_microseconds(two_nodes->bound), 2.7 + 1073741824 / 400e3, 0.01);
  query.local = 1;  // one rank a node: one card each, and 15/8 of the bytes
  EXPECT_NEAR(in_microseconds(forecast(query)->bound), 2.7 + 1.875 * 1073741824 / 50e3, 0.01);
}

TEST(CollectiveApi, SaysWhatWasAsked) {
  CollectiveQuery query = kReduce;
  query.op = "All-Gather", query.library = "custom", query.nodes = 2;
  const auto answer = forecast(query);
  ASSERT_TRUE(answer.ok()) << answer.error().line();
  EXPECT_EQ(answer->op, "all_gather");
  EXPECT_EQ(answer->library, "vllm");
  EXPECT_EQ(answer->ranks, 16);
  EXPECT_EQ(in_bytes(answer->bytes), 1073741824);
  EXPECT_FALSE(answer->exchange);
  EXPECT_TRUE(answer->seen);
  EXPECT_LE(answer->bound, answer->latency);
  EXPECT_LE(answer->interval.low, answer->latency);
  EXPECT_GE(answer->interval.high, answer->latency);
}

TEST(CollectiveApi, RanksByDefaultAreAllOrAPair) {
  CollectiveQuery query{.op = "send_recv", .bytes = kibibytes(64), .cluster = "hgx-h100-8"};
  EXPECT_EQ(forecast(query)->ranks, 2);
  query.op = "broadcast";
  EXPECT_EQ(forecast(query)->ranks, 8);
}

TEST(CollectiveApi, Tokens) {
  auto answer = forecast(kDispatch);
  ASSERT_TRUE(answer.ok()) << answer.error().line();
  ASSERT_TRUE(answer->exchange);
  EXPECT_EQ(answer->library, "deepep");
  EXPECT_EQ(answer->exchange->tokens, 128);
  EXPECT_EQ(answer->exchange->hidden, 7168);
  EXPECT_EQ(answer->exchange->bytes_per_element, 1 + 4.0 / 128) << "fp8 and its scales";
  CollectiveQuery query = kDispatch;
  query.op = "combine";
  EXPECT_EQ(forecast(query)->exchange->bytes_per_element, 2);
  query.op = "prepare";
  EXPECT_EQ(forecast(query)->library, "trtllm-two-sided");
}

TEST(CollectiveApi, ABatchAnswersAsOneByOne) {
  std::vector<CollectiveQuery> queries(3, kReduce);
  queries[1].cluster = "hgx-h900";
  queries[2].bytes = kibibytes(64), queries[2].cluster = "hgx-b200-8";
  const auto answers = forecast(queries);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]->latency, forecast(queries[0])->latency);
  EXPECT_FALSE(answers[1].ok());
  EXPECT_EQ(answers[2]->latency, forecast(queries[2])->latency);
}

TEST(CollectiveApi, ErrorsNameTheirField) {
  const auto refused = [](const CollectiveQuery& base, auto&& change) {
    CollectiveQuery query = base;
    change(query);
    const auto answer = forecast(query);
    return answer ? "fine" : answer.error().field + "|" + answer.error().line();
  };
  using Q = CollectiveQuery;
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.op = "all_reduse"; }), HasSubstr("did you mean all_reduce"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.op = ""; }), StartsWith("op|op: is missing"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.bytes.reset(); }), StartsWith("bytes|"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.bytes = bytes(-1); }), StartsWith("bytes|"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.tokens = 8; }), StartsWith("tokens|"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.cluster = ""; }), StartsWith("cluster|cluster: is missing"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.cluster = "hgx-h101"; }), StartsWith("cluster|"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.ranks = 0; }), StartsWith("ranks|"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.ranks = 1 << 21; }), StartsWith("ranks|"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.ranks = 9, q.nodes = 1; }), HasSubstr("give it 2 nodes"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.nodes = 0; }), StartsWith("nodes|"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.local = 2; }), StartsWith("local|local: needs ranks"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.groups = 2; }), StartsWith("groups|groups: needs local"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.library = "mpi"; }), StartsWith("library|library: unknown library 'mpi'"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.dtype = "x"; }), StartsWith("dtype|"));
  EXPECT_THAT(refused(kReduce, [](Q& q) { q.eager = true; }), StartsWith("eager|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.bytes = bytes(8); }), StartsWith("bytes|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.tokens.reset(); }), StartsWith("tokens|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.tokens = 0; }), StartsWith("tokens|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.topk = 0; }), StartsWith("topk|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.local = 2; }), StartsWith("local|local: is for collectives"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.eager = true; }), StartsWith("eager|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.dtype = "fp64"; }), StartsWith("dtype|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.library = "nccl"; }), StartsWith("library|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.experts = 4, q.topk = 2; }), StartsWith("ranks|"));
  EXPECT_THAT(refused(kDispatch, [](Q& q) { q.op = "prepare", q.library = "deepep"; }), StartsWith("library|"));
}

TEST(CollectiveApi, ClustersKnownAndDescribed) {
  EXPECT_GT(known_clusters().size(), 12u);
  const auto grown = describe_cluster("hgx-h100:4");
  ASSERT_TRUE(grown.ok());
  EXPECT_EQ(grown->nodes, 4);
  EXPECT_EQ(grown->gpu, "H100-SXM");
  EXPECT_EQ(grown->link, "nvlink-switch");
  ASSERT_TRUE(grown->network);
  const std::string text = R"({"like": "HGX-H100-8", "name": "mine", "gpus_per_node": 4})";
  const TestFolder folder;
  for (const std::string& given : {text, folder.plain("mine.json", text)}) {
    const auto cluster = describe_cluster(given);
    ASSERT_TRUE(cluster.ok()) << cluster.error().line();
    EXPECT_EQ(cluster->name, "mine");
    EXPECT_EQ(cluster->gpus_per_node, 4);
    EXPECT_EQ(forecast({.op = "all_reduce", .bytes = kibibytes(64), .cluster = given})->ranks, 4);
  }
  EXPECT_EQ(describe_cluster("hgx-h101").error().field, "cluster");
}

TEST(CollectiveApi, Arguments) {
  CollectiveQuery full = kDispatch;
  full.bytes = bytes(1572864), full.hidden = 4096, full.topk = 4, full.experts = 64, full.most_nodes = 2, full.sms = 24;
  full.balanced = true, full.nodes = 2, full.local = 4, full.groups = 2, full.library = "deepep-ll", full.dtype = "fp8";
  full.eager = true;
  expect_round_trip(full);
  expect_examples_taken<CollectiveQuery>();
  EXPECT_THAT(refusal_of<CollectiveQuery>("bytes", "1Q"), HasSubstr("bytes: is not a size: '1Q'"));
  EXPECT_THAT(refusal_of<CollectiveQuery>("ranks", "0"), HasSubstr("ranks: must lie between 1 and 1048576"));
  EXPECT_THAT(refusal_of<CollectiveQuery>("tokens", "-1"), HasSubstr("tokens: must lie between 1"));
}

}  // namespace
}  // namespace tilecast
