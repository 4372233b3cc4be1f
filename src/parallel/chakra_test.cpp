#include "parallel/chakra.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "support/file.h"
#include "support/protobuf.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using Kind = TraceKind;

// A computation, an all-gather after it, a message either way.
RankTrace small_trace() {
  RankTrace r{2, {}};
  r.add({Kind::compute, "gemm", {}, microseconds(12.4), ops(1e12), bytes(3e9)});
  TraceNode gather{Kind::collective, "gather", {0}, microseconds(7), {}, bytes(4096)};
  gather.op = CollectiveOp::all_gather, gather.group = 1;
  r.add(gather);
  r.add({Kind::compute, "norm", {0, 1}, microseconds(0.2), ops(10), bytes(20)});
  TraceNode send{Kind::send, "out", {2}, microseconds(3), {}, bytes(1 << 20)};
  send.peer = 3, send.tag = 300;
  r.add(send);
  TraceNode receive{Kind::receive, "in", {2}, microseconds(3), {}, bytes(512)};
  receive.peer = 0, receive.tag = 7;
  r.add(receive);
  return r;
}
const CommGroups kGroups = {{0, 1}, {0, 1, 2, 3}};

struct Decoded {
  std::uint64_t id = 0, type = 0, micros = 0;
  std::string name;
  std::vector<Count> after;
  std::map<std::string, std::uint64_t> numbers;
  std::map<std::string, std::string> texts;
};

Decoded decoded(std::string_view message) {
  Decoded d;
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 1) d.id = field->value;
    if (field->number == 2) d.name = field->bytes;
    if (field->number == 3) d.type = field->value;
    if (field->number == 5) append_varints(*field, 1000, d.after);
    if (field->number == 7) d.micros = field->value;
    if (field->number != 10) continue;
    std::string name;
    WireReader attribute(field->bytes);
    while (const auto part = attribute.next()) {
      if (part->number == 1) name = part->bytes;
      else if (part->type == WireType::bytes) d.texts[name] = part->bytes;
      else d.numbers[name] = part->value;
    }
    EXPECT_EQ(attribute.problem(), "");
  }
  EXPECT_EQ(reader.problem(), "");
  return d;
}

std::vector<Decoded> decoded_file(std::string_view rest) {
  std::vector<Decoded> nodes;
  EXPECT_EQ(take_delimited(rest),
            "\x0a\x05"
            "0.0.4");
  while (!rest.empty()) {
    const auto message = take_delimited(rest);
    EXPECT_TRUE(message);
    if (!message) break;
    nodes.push_back(decoded(*message));
  }
  return nodes;
}

TEST(Chakra, ReadBackAsWritten) {
  const std::vector<Decoded> nodes = decoded_file(chakra_trace(small_trace(), kGroups));
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[0].name, "gemm");
  EXPECT_EQ(nodes[0].type, 4u);
  EXPECT_EQ(nodes[0].micros, 12u);
  EXPECT_EQ(nodes[0].numbers, (std::map<std::string, std::uint64_t>{
                                  {"is_cpu_op", 0}, {"num_ops", 1'000'000'000'000}, {"tensor_size", 3'000'000'000}}));
  EXPECT_EQ(nodes[1].type, 7u);
  EXPECT_EQ(nodes[1].after, std::vector<Count>{0});
  // A share of what is gathered.
  EXPECT_EQ(nodes[1].numbers,
            (std::map<std::string, std::uint64_t>{{"is_cpu_op", 0}, {"comm_type", 2}, {"comm_size", 1024}}));
  EXPECT_EQ(nodes[1].texts.at("pg_name"), "2");
  EXPECT_EQ(nodes[2].after, (std::vector<Count>{0, 1}));
  EXPECT_EQ(nodes[2].micros, 1u);  // 0.2 and the 0.4 that the first left
  EXPECT_EQ(nodes[3].type, 5u);
  EXPECT_EQ(nodes[3].numbers,
            (std::map<std::string, std::uint64_t>{
                {"is_cpu_op", 0}, {"comm_size", 1 << 20}, {"comm_src", 2}, {"comm_dst", 3}, {"comm_tag", 300}}));
  EXPECT_EQ(nodes[4].type, 6u);
  EXPECT_EQ(nodes[4].numbers,
            (std::map<std::string, std::uint64_t>{
                {"is_cpu_op", 0}, {"comm_size", 512}, {"comm_src", 0}, {"comm_dst", 2}, {"comm_tag", 7}}));
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].id, i);
}

TEST(Chakra, DurationsKeepTheirSum) {
  RankTrace r;
  for (int i = 0; i < 1000; ++i) r.add({Kind::compute, "k", {}, microseconds(0.37), {}, {}});
  std::uint64_t sum = 0;
  for (const Decoded& n : decoded_file(chakra_trace(r, {}))) sum += n.micros;
  EXPECT_EQ(sum, 370u);
}

// Of exchanges too, each group for itself; and their sizes, of which an all-gather's share is rarely whole.
TEST(Chakra, ExchangesKeepTheirSums) {
  RankTrace r;
  for (int i = 0; i < 300; ++i) {
    TraceNode n{Kind::collective, "c", {}, microseconds(0.4), {}, bytes(10)};
    n.op = CollectiveOp::all_gather, n.group = i % 2;
    r.add(n);
    TraceNode send{Kind::send, "s", {}, microseconds(0.25), {}, bytes(7)};
    send.peer = 1;
    r.add(send);
  }
  std::uint64_t times[2] = {}, sizes[2] = {}, sent = 0;
  for (const Decoded& n : decoded_file(chakra_trace(r, {{0, 1}, {0, 1, 2, 3}}))) {
    if (n.type == 5) {
      sent += n.micros;
      EXPECT_EQ(n.numbers.at("comm_size"), 7u);
      continue;
    }
    const bool second = n.texts.at("pg_name") == "2";
    times[second] += n.micros, sizes[second] += n.numbers.at("comm_size");
  }
  EXPECT_EQ(times[0], 60u);
  EXPECT_EQ(times[1], 60u);
  EXPECT_EQ(sizes[0], 750u);
  EXPECT_EQ(sizes[1], 375u);
  EXPECT_EQ(sent, 75u);
}

// ASTRA-sim runs a broadcast for the time it is given: all members must be given the same.
TEST(Chakra, BroadcastsTakeTheirForecast) {
  const auto rank = [](int number, double before) {
    RankTrace r{number, {}};
    r.add({Kind::compute, "k", {}, microseconds(before), {}, {}});
    for (int i = 0; i < 3; ++i) {
      TraceNode n{Kind::collective, "weights", {i}, microseconds(10.4), {}, bytes(1 << 20)};
      n.op = CollectiveOp::broadcast, n.group = 0;
      r.add(n);
    }
    return r;
  };
  const std::vector<RankTrace> ranks = {rank(0, 3.3), rank(1, 7.9)};
  const CommGroups groups = {{0, 1}};
  EXPECT_TRUE(check(groups, ranks));
  std::vector<std::vector<Decoded>> files;
  for (const RankTrace& r : ranks) files.push_back(decoded_file(chakra_trace(r, groups)));
  ASSERT_EQ(files[0].size(), 4u);
  const std::uint64_t expected[] = {10, 11, 10};
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(files[0][i].type, 7u);
    EXPECT_EQ(files[0][i].numbers.at("comm_type"), 5u);
    EXPECT_EQ(files[0][i].numbers.at("comm_size"), 1u << 20);
    EXPECT_EQ(files[0][i].micros, expected[i - 1]);
    EXPECT_EQ(files[1][i].micros, expected[i - 1]);
  }
}

// The fields of mlcommons/chakra's et_def.proto that we write, and a message around the file's, for protoc to read.
constexpr std::string_view kSchema = R"(syntax = "proto3";
message AttributeProto {
  string name = 1;
  oneof value { int32 int32_val = 7; int64 int64_val = 9; uint64 uint64_val = 13; bool bool_val = 27; string string_val = 29; }
}
message GlobalMetadata { string version = 1; }
enum NodeType { INVALID_NODE = 0; COMP_NODE = 4; COMM_SEND_NODE = 5; COMM_RECV_NODE = 6; COMM_COLL_NODE = 7; }
message Node {
  uint64 id = 1; string name = 2; NodeType type = 3;
  repeated uint64 ctrl_deps = 4; repeated uint64 data_deps = 5;
  uint64 start_time_micros = 6; uint64 duration_micros = 7;
  repeated AttributeProto attr = 10;
}
message File { GlobalMetadata metadata = 1; repeated Node node = 2; }
)";

// The text without white space that only lays it out.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '\n' && c != ' ') out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  return out;
}

TEST(Chakra, AnotherImplementationReadsIt) {
  if (std::system("command -v protoc > /dev/null") != 0)
    GTEST_SKIP() << "protoc is not installed (Debian: protobuf-compiler)";
  const TestFolder folder;
  folder.plain("et.proto", kSchema);
  // A message of a file is one of `File` but for its tag.
  const std::string file = chakra_trace(small_trace(), kGroups);
  std::string wrapped;
  for (std::string_view rest = file; !rest.empty();) {
    wrapped += wrapped.empty() ? '\x0a' : '\x12';
    append_delimited(wrapped, *take_delimited(rest));
  }
  folder.plain("in", wrapped);
  const std::string command = "cd '" + folder.file("") + "' && protoc --decode=File et.proto < in > out 2> errors";
  ASSERT_EQ(std::system(command.c_str()), 0) << folder.content("errors");
  const auto attribute = [](std::string_view name, std::string_view value) {
    return fmt::format(R"(attr {{ name: "{}" {} }} )", name, value);
  };
  const std::string cpu = attribute("is_cpu_op", "bool_val: false");
  EXPECT_EQ(squeezed(folder.content("out")),
            R"(metadata { version: "0.0.4" } node { name: "gemm" type: COMP_NODE duration_micros: 12 )" + cpu +
                attribute("num_ops", "int64_val: 1000000000000") + attribute("tensor_size", "uint64_val: 3000000000") +
                R"(} node { id: 1 name: "gather" type: COMM_COLL_NODE data_deps: 0 duration_micros: 7 )" + cpu +
                attribute("comm_type", "int64_val: 2") + attribute("comm_size", "int64_val: 1024") +
                attribute("pg_name", R"(string_val: "2")") +
                R"(} node { id: 2 name: "norm" type: COMP_NODE data_deps: 0 data_deps: 1 duration_micros: 1 )" + cpu +
                attribute("num_ops", "int64_val: 10") + attribute("tensor_size", "uint64_val: 20") +
                R"(} node { id: 3 name: "out" type: COMM_SEND_NODE data_deps: 2 duration_micros: 3 )" + cpu +
                attribute("comm_size", "int64_val: 1048576") + attribute("comm_src", "int32_val: 2") +
                attribute("comm_dst", "int32_val: 3") + attribute("comm_tag", "int32_val: 300") +
                R"(} node { id: 4 name: "in" type: COMM_RECV_NODE data_deps: 2 duration_micros: 3 )" + cpu +
                attribute("comm_size", "int64_val: 512") + attribute("comm_src", "int32_val: 0") +
                attribute("comm_dst", "int32_val: 2") + attribute("comm_tag", "int32_val: 7") + "} ");
}

// ASTRA-sim's way to run traces (Workload.cc, HardwareResource.cc): of the nodes that wait for nothing, in order of
// ids, those whose unit is free begin; computation is one unit, sends another, receives need none. A message takes
// `send` microseconds. When all ranks end, or nothing where they never do.
class Replay {
 public:
  Replay(const std::vector<std::vector<Decoded>>& ranks, double send) : ranks_(ranks), send_(send) {}

  std::optional<double> run() {
    std::size_t nodes = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) begin(r), nodes += ranks_[r].size();
    while (!events_.empty()) {
      const auto [time, node] = *events_.begin();
      events_.erase(events_.begin());
      now_ = time, ended_.insert(node);
      busy_.erase({node.first, at(node).type});
      begin(node.first);
    }
    return ended_.size() == nodes ? std::optional(now_) : std::nullopt;
  }

 private:
  using Node = std::pair<std::size_t, std::uint64_t>;  // rank, id
  using Wire = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  const Decoded& at(Node n) const { return ranks_[n.first][n.second]; }
  static Wire wire(const Decoded& n) {
    return {n.numbers.at("comm_src"), n.numbers.at("comm_dst"), n.numbers.at("comm_tag")};
  }

  void begin(std::size_t r) {
    for (const Decoded& n : ranks_[r]) {
      const auto ended = [&](Count id) { return ended_.count({r, static_cast<std::uint64_t>(id)}) > 0; };
      if (begun_.count({r, n.id}) || !std::all_of(n.after.begin(), n.after.end(), ended)) continue;
      if (n.type != 6 && !busy_.insert({r, n.type}).second) continue;
      begun_.insert({r, n.id});
      if (n.type == 4) events_.insert({now_ + static_cast<double>(n.micros), {r, n.id}});
      else meet(n, {r, n.id});
    }
  }
  // A message ends for its receiver when it has arrived and is waited for.
  void meet(const Decoded& n, Node node) {
    if (n.type == 5) {
      events_.insert({now_ + send_, node}), arrival_[wire(n)] = now_ + send_;
      if (const auto other = listener_.find(wire(n)); other != listener_.end())
        events_.insert({now_ + send_, other->second});
    } else if (const auto sent = arrival_.find(wire(n)); sent != arrival_.end()) {
      events_.insert({std::max(now_, sent->second), node});
    } else {
      listener_[wire(n)] = node;
    }
  }

  const std::vector<std::vector<Decoded>>& ranks_;
  double send_, now_ = 0;
  std::set<std::pair<double, Node>> events_;
  std::set<Node> begun_, ended_;
  std::set<std::pair<std::size_t, std::uint64_t>> busy_;  // rank, type
  std::map<Wire, double> arrival_;
  std::map<Wire, Node> listener_;
};

TEST(Chakra, PipelinesRunToTheTimelinesEnd) {
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved,
                              PipelineSchedule::zero_bubble})
    for (const int count : {2, 3, 4})
      for (const double send : {0.0, 3.0}) {
        const int chunks = schedule == PipelineSchedule::interleaved ? 2 : 1;
        Pipeline p{schedule, count, chunks, 3 * count, {}, microseconds(send)};
        for (int i = 0; i < count * chunks; ++i)
          p.stages.push_back({microseconds(10 + i), microseconds(20 + 3 * i), microseconds(7 + 2 * i)});
        const PipelineTimeline timeline = simulate(p);
        std::vector<int> ranks;
        for (int i = 0; i < count; ++i) ranks.push_back(i);
        std::vector<RankTrace> traces;
        std::vector<std::vector<Decoded>> files;
        for (int i = 0; i < count; ++i) {
          traces.push_back(pipeline_trace(
              p, timeline, {ranks, i, bytes(1 << 20)},
              [](const PipelineTask& task, std::vector<int> after, RankTrace& trace) {
                // Two nodes a task, one waiting for the other.
                const double us = std::round(in_microseconds(task.end - task.begin));
                const int first = trace.add({Kind::compute, "a", std::move(after), microseconds(4), {}, {}});
                return std::vector{trace.add({Kind::compute, "b", {first}, microseconds(us - 4), {}, {}})};
              }));
          files.push_back(decoded_file(chakra_trace(traces.back(), {})));
        }
        const Status checked = check(CommGroups{}, traces);
        EXPECT_TRUE(checked) << checked.error().line();
        const auto end = Replay(files, send).run();
        ASSERT_TRUE(end) << name_of(schedule) << count;
        EXPECT_NEAR(*end, in_microseconds(timeline.total), 1e-6) << name_of(schedule) << " " << count << " " << send;
      }
}

TEST(StepTrace, SaysWhatCannotEnd) {
  const auto collective = [](int group, double size) {
    TraceNode n{Kind::collective, "sum", {}, {}, {}, bytes(size)};
    n.group = group;
    return n;
  };
  const CommGroups groups = {{0, 1}};
  std::vector<RankTrace> ranks = {{0, {collective(0, 8)}}, {1, {collective(0, 8)}}, {2, {}}};
  EXPECT_TRUE(check(groups, ranks));
  const auto line = [&] {
    const Status status = check(groups, ranks);
    return status ? "" : status.error().line();
  };
  ranks[1].nodes[0].bytes = bytes(16);
  EXPECT_EQ(line(), "ranks 0 and 1 run different collectives of group 0");
  ranks[1].nodes.clear();
  EXPECT_EQ(line(), "ranks 0 and 1 run different collectives of group 0");
  ranks[2].nodes = {collective(0, 8)};
  EXPECT_EQ(line(), "rank 2: node 0 'sum': is of group 0, the rank is not");
  ranks = {{0, {{Kind::send, "s", {}, {}, {}, bytes(8)}}}, {1, {}}};
  EXPECT_EQ(line(), "rank 0: node 0 's': goes to or comes from rank -1");
  ranks[0].nodes[0].peer = 1;
  EXPECT_EQ(line(), "rank 0 to 1, tag 0, 8 bytes: sent 1 times more than received");
  ranks[0].nodes = {{Kind::compute, "k", {0}, {}, {}, {}}};
  EXPECT_EQ(line(), "rank 0: node 0 'k': waits for node 0");
}

TEST(Chakra, FilesOfAllRanksOrNone) {
  const TestFolder folder;
  const auto trace_of = [](int rank) { return RankTrace{rank, {{Kind::compute, "k", {}, microseconds(5), {}, {}}}}; };
  const std::string out = folder.file("a/b");
  ASSERT_TRUE(write_chakra(out, "step", {{0, 1}, {2}}, 3, trace_of));
  EXPECT_EQ(*read_text_file(out + "/step.json", 100), "{\n  \"1\": [0, 1],\n  \"2\": [2]\n}\n");
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(*read_text_file(fmt::format("{}/step.{}.et", out, rank), 1000), chakra_trace(trace_of(rank), {}));
  EXPECT_EQ(chakra_groups({}), "{}\n");
  // A folder stands where the third file should.
  std::filesystem::create_directories(out + "/other.2.et/x");
  const Status status = write_chakra(out, "other", {}, 3, trace_of);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().line(), out + "/other.2.et: is a directory, not a file (name a file in it)");
  EXPECT_FALSE(std::filesystem::exists(out + "/other.0.et"));
  EXPECT_FALSE(std::filesystem::exists(out + "/other.json"));
  EXPECT_EQ(write_chakra(out, "empty", {}, 1, trace_of).error().line(),
            out + "/empty: ASTRA-sim reads no groups from a path that says 'empty' (choose another name)");
  EXPECT_EQ(write_chakra(folder.plain("file", ""), "step", {}, 1, trace_of).error().problem.substr(0, 23),
            "cannot be made a folder");
  EXPECT_EQ(write_chakra(out, "step", CommGroups(2148, {0}), 1, trace_of).error().line(),
            "the layout has 2148 groups of ranks, ASTRA-sim has numbers for 2147 (export fewer GPUs)");
}

}  // namespace
}  // namespace tilecast
