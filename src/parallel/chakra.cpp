// The format, from schema/protobuf/et_def.proto of github.com/mlcommons/chakra, commit 6dc63e1 (the fields used have
// the same numbers in f5124d7):
//
//   file            one GlobalMetadata, then Nodes; before each its length as a varint
//   GlobalMetadata  1 version: string
//   Node            1 id: uint64         2 name: string           3 type: enum, 4 compute, 5 send, 6 receive,
//                                                                                7 collective
//                   5 data_deps: packed uint64 (ids)              7 duration_micros: uint64
//                   10 attr: AttributeProto, repeated
//   AttributeProto  1 name: string, and one of   7 int32   9 int64   13 uint64   27 bool   29 string
//   comm_type       0 all-reduce   2 all-gather   5 broadcast   6 all-to-all   7 reduce-scatter
//
// Which attributes, and of which type, is what both feeders of ASTRA-sim read (chakra/src/feeder/et_feeder_node.cpp,
// commit 02da5d0; chakra/src/feeder_v3, commit 2aa2bbd, which converts integers). Control dependencies the
// older of them ignores, so all dependencies are of data.
//
// In astra-sim/workload/Workload.cc, commit 0383c20: computation takes duration_micros (1 ns for none), or with a
// roofline num_ops and tensor_size; broadcasts take their duration, the other collectives and messages are simulated.
#include "parallel/chakra.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <filesystem>

#include "support/file.h"
#include "support/protobuf.h"

namespace tilecast {
namespace {

constexpr std::string_view kVersion = "0.0.4";

enum class Type : std::uint32_t { int32 = 7, int64 = 9, uint64 = 13, boolean = 27 };

void attribute(WireWriter& node, std::string_view name, Type type, std::uint64_t value) {
  node.bytes(10, WireWriter().bytes(1, name).varint(static_cast<std::uint32_t>(type), value).message());
}
void attribute(WireWriter& node, std::string_view name, std::string_view text) {
  node.bytes(10, WireWriter().bytes(1, name).bytes(29, text).message());
}

std::uint64_t whole(double value) { return value > 0 ? static_cast<std::uint64_t>(std::llround(value)) : 0; }

std::uint64_t type_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::compute: return 4;
    case TraceKind::send: return 5;
    case TraceKind::receive: return 6;
    case TraceKind::collective: return 7;
  }
  return 0;
}

std::uint64_t type_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce: return 0;
    case CollectiveOp::all_gather: return 2;
    case CollectiveOp::broadcast: return 5;
    case CollectiveOp::all_to_all: return 6;
    case CollectiveOp::reduce_scatter: return 7;
    case CollectiveOp::send_recv: break;
  }
  assert(false && "messages are nodes of their own");
  return 0;
}

// What rounding leaves of one figure goes to the next, so that sums are right.
class Rounding {
 public:
  std::uint64_t operator()(double value) {
    const double exact = value + left_;
    const std::uint64_t rounded = whole(exact);
    left_ = exact - static_cast<double>(rounded);
    return rounded;
  }

 private:
  double left_ = 0;
};

// Whole microseconds and bytes of a rank's nodes. What is left of a collective stays in its group: its members run the
// same ones in the same order and so agree on every figure. Sizes of messages are rounded each for itself, as their
// receivers round them.
class RankRounding {
 public:
  explicit RankRounding(const CommGroups& groups)
      : groups_(groups), group_times_(groups.size()), group_sizes_(groups.size()) {}

  std::uint64_t micros(const TraceNode& n) {
    Rounding& rounding = n.kind == TraceKind::compute      ? compute_
                         : n.kind == TraceKind::collective ? group_times_[place(n)]
                         : n.kind == TraceKind::send       ? sends_
                                                           : receives_;
    return rounding(in_microseconds(n.duration));
  }

  // ASTRA-sim means by size what a rank brings along: of an all-gather a share, not the whole
  // (astraccl/native_collectives/collective_algorithm/Ring.cc, commit 7c77518). No message is empty.
  std::uint64_t size(const TraceNode& n) {
    if (n.kind != TraceKind::collective) return std::max<std::uint64_t>(1, whole(n.bytes.base()));
    const double share = n.op == CollectiveOp::all_gather ? static_cast<double>(groups_[place(n)].size()) : 1;
    return std::max<std::uint64_t>(1, group_sizes_[place(n)](n.bytes.base() / share));
  }

 private:
  static std::size_t place(const TraceNode& n) { return static_cast<std::size_t>(n.group); }
  const CommGroups& groups_;
  Rounding compute_, sends_, receives_;
  std::vector<Rounding> group_times_, group_sizes_;
};

void put_attributes(WireWriter& node, const TraceNode& n, int rank, RankRounding& rounding) {
  attribute(node, "is_cpu_op", Type::boolean, 0);
  if (n.kind == TraceKind::compute) {
    // One operation at least: the roofline divides by operations for a byte.
    attribute(node, "num_ops", Type::int64, std::max<std::uint64_t>(1, whole(n.work.base())));
    attribute(node, "tensor_size", Type::uint64, whole(n.bytes.base()));
    return;
  }
  if (n.kind == TraceKind::collective) attribute(node, "comm_type", Type::int64, type_of(n.op));
  attribute(node, "comm_size", Type::int64, rounding.size(n));
  if (n.kind == TraceKind::collective) {
    attribute(node, "pg_name", std::to_string(n.group + 1));
    return;
  }
  const bool sends = n.kind == TraceKind::send;
  attribute(node, "comm_src", Type::int32, static_cast<std::uint64_t>(sends ? rank : n.peer));
  attribute(node, "comm_dst", Type::int32, static_cast<std::uint64_t>(sends ? n.peer : rank));
  attribute(node, "comm_tag", Type::int32, static_cast<std::uint64_t>(n.tag));
}

}  // namespace

std::string chakra_trace(const RankTrace& trace, const CommGroups& groups) {
  std::string file;
  append_delimited(file, WireWriter().bytes(1, kVersion).message());
  RankRounding rounding(groups);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const TraceNode& n = trace.nodes[i];
    const std::uint64_t duration = rounding.micros(n);
    WireWriter node;
    if (i > 0) node.varint(1, i);  // 0 is what an absent number means
    node.bytes(2, n.name).varint(3, type_of(n.kind));
    const std::vector<std::uint64_t> after(n.after.begin(), n.after.end());
    node.packed(5, after);
    if (duration > 0) node.varint(7, duration);
    put_attributes(node, n, trace.rank, rounding);
    append_delimited(file, node.message());
  }
  return file;
}

std::string chakra_groups(const CommGroups& groups) {
  std::string text = "{";
  for (std::size_t i = 0; i < groups.size(); ++i)
    text += fmt::format("{}\n  \"{}\": [{}]", i == 0 ? "" : ",", i + 1, fmt::join(groups[i], ", "));
  return text + (groups.empty() ? "}\n" : "\n}\n");
}

Status check_chakra_groups(const CommGroups& groups) {
  if (groups.size() <= kMostChakraGroups) return Ok{};
  return error(
      fmt::format("the layout has {} groups of ranks, ASTRA-sim has numbers for {}", groups.size(), kMostChakraGroups),
      "export fewer GPUs");
}

Status write_chakra_files(const std::string& folder, const std::string& prefix, const std::string& groups, int ranks,
                          const std::function<std::string(int rank)>& trace_of,
                          const std::vector<NamedText>& beside) {
  namespace fs = std::filesystem;
  const std::string stem = (fs::path(folder) / prefix).string();
  // Workload.cc takes any path with this word in it for no file.
  if (stem.find("empty") != std::string::npos)
    return Error{stem, "", "ASTRA-sim reads no groups from a path that says 'empty'", "choose another name"};
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure || !fs::is_directory(folder, failure))
    return Error{folder, "", "cannot be made a folder" + (failure ? ": " + failure.message() : ""), "choose another"};
  std::vector<std::string> written;
  const auto write = [&](const std::string& path, const std::string& content) {
    Status status = write_text_file(path, content);
    if (status) written.push_back(path);
    else
      for (const std::string& file : written) fs::remove(file, failure);
    return status;
  };
  for (int rank = 0; rank < ranks; ++rank)
    if (Status status = write(fmt::format("{}.{}.et", stem, rank), trace_of(rank)); !status) return status;
  for (const NamedText& file : beside)
    if (Status status = write((fs::path(folder) / file.name).string(), file.text); !status) return status;
  return write(stem + ".json", groups);
}

Status write_chakra(const std::string& folder, const std::string& prefix, const CommGroups& groups, int ranks,
                    const std::function<RankTrace(int rank)>& trace_of) {
  if (auto fine = check_chakra_groups(groups); !fine) return fine;
  return write_chakra_files(folder, prefix, chakra_groups(groups), ranks, [&](int rank) {
    const RankTrace trace = trace_of(rank);
    assert(trace.rank == rank);
    return chakra_trace(trace, groups);
  });
}

}  // namespace tilecast
