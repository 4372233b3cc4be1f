#include "diagnose/recording.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/gzip_reader.h"
#include "support/text.h"

namespace tilecast {
namespace {

// Real traces hold some thousand different names and operators; a file with more text than this is not one.
constexpr std::size_t kMostText = std::size_t{256} << 20;
// 48 bytes each; a day of kernels of 5 us would be 17 billion, but nobody's profiler writes more than some millions.
constexpr std::size_t kMostEvents = 20'000'000;

// cudaStreamSynchronize, cudaDeviceSynchronize, cuEventSynchronize, hipStreamSynchronize ...; cudaMemcpy without Async.
bool waits_for_gpu(std::string_view call) {
  return call.ends_with("Synchronize") || call == "cudaMemcpy" || call == "hipMemcpy";
}

std::string text_of_dims(const std::vector<Count>& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", dims[i]);
  return text + "]";
}

}  // namespace

std::string OperatorCall::text() const {
  std::string all = name + "(";
  const char* between = "";
  for (const auto& tensor : dims) {
    if (tensor.empty()) continue;
    all += between + text_of_dims(tensor);
    between = ", ";
  }
  return all + ")";
}

void Counters::add(const Counters& other, Seconds duration) {
  const Seconds all = time + duration;
  if (!(all > seconds(0))) return;
  const double part = duration / all;
  memory_share += part * (other.memory_share - memory_share);
  compute_share += part * (other.compute_share - compute_share);
  dram += other.dram;
  time = all;
}

Seconds Recording::total() const {
  Seconds sum;
  for (const WorkKind& kind : kinds) sum += kind.total;
  return sum;
}

RecordingBuilder::RecordingBuilder(std::string path, std::string format) {
  recording_.path = std::move(path);
  recording_.format = std::move(format);
}

bool RecordingBuilder::fits(std::size_t bytes) {
  if (text_bytes_ + bytes > kMostText) return ++left_out_, false;
  text_bytes_ += bytes + 64;
  return true;
}

std::uint32_t RecordingBuilder::lane(Count device, Count stream) {
  const auto [at, is_new] =
      lane_ids_.emplace(std::pair(device, stream), static_cast<std::uint32_t>(recording_.lanes.size()));
  if (is_new) recording_.lanes.push_back({device, stream});
  return at->second;
}

std::uint32_t RecordingBuilder::raw_kind(const WorkSeen& seen) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::string key(seen.name);
  key.push_back('\0');
  key.append(reinterpret_cast<const char*>(&seen.launch), sizeof seen.launch);
  key.push_back(static_cast<char>(seen.activity));
  key.append(seen.shape);
  if (!seen.exchange.empty()) key.append(1, '\0').append(seen.exchange);
  const auto found = kind_ids_.find(key);
  if (found != kind_ids_.end()) return found->second;
  if (!fits(2 * key.size() + sizeof(WorkKind))) return kNone;
  const auto id = static_cast<std::uint32_t>(recording_.kinds.size());
  WorkKind kind;
  kind.name = seen.name;
  kind.activity = seen.activity;
  kind.launch = seen.launch;
  kind.shape = seen.shape;
  kind.exchange = seen.exchange;
  recording_.kinds.push_back(std::move(kind));
  kind_ids_.emplace(std::move(key), id);
  return id;
}

void RecordingBuilder::work(const WorkSeen& seen) {
  if (seen.duration < 0 || !is_time(seen.duration) || !is_time(seen.start.value_or(0)) || seen.count < 1)
    return without_time();
  ++works_;
  if (raw_.size() >= kMostEvents) return void(++left_out_);
  const std::uint32_t id = raw_kind(seen);
  if (id >= recording_.kinds.size()) return;
  if (!seen.start || seen.count > 1) timed_ = false;
  WorkKind& kind = recording_.kinds[id];
  kind.bytes += bytes(seen.bytes);
  if (seen.counters) {
    if (!kind.counters) kind.counters.emplace();
    kind.counters->add(*seen.counters, nanoseconds(static_cast<double>(seen.duration)));
  }
  if (seen.count > 1) {  // a table of sums: no event stands for it
    const Seconds least = nanoseconds(static_cast<double>(seen.fastest));
    kind.fastest = kind.count == 0 ? least : std::min(kind.fastest, least);
    kind.count += seen.count;
    kind.total += nanoseconds(static_cast<double>(seen.duration));
    return;
  }
  WorkEvent event;
  event.start = seen.start.value_or(0);
  event.duration = seen.duration;
  event.kind = id;
  event.lane = lane(seen.device, seen.stream);
  event.place = seen.place;
  raw_.push_back({event, seen.external, seen.correlation});
}

void RecordingBuilder::host_call(std::string_view name, std::int64_t start, std::int64_t duration,
                                 std::uint64_t correlation, std::uint64_t external) {
  if (duration < 0 || !is_time(duration) || !is_time(start)) return;
  const auto found = host_ids_.find(std::string(name));
  std::uint32_t id = 0;
  if (found != host_ids_.end()) {
    id = found->second;
  } else {
    if (!fits(name.size())) return;
    id = static_cast<std::uint32_t>(recording_.host.size());
    recording_.host.push_back({std::string(name), 0, {}});
    host_ids_.emplace(name, id);
  }
  HostCallTime& call = recording_.host[id];
  ++call.count;
  call.total += nanoseconds(static_cast<double>(duration));
  if (correlation != 0 && launches_.size() < kMostEvents) launches_[correlation] = {start, start + duration, external};
  if (waits_for_gpu(name) && recording_.waits.size() < kMostEvents)
    recording_.waits.push_back({start, start + duration});
  if (contains(name, "StreamWaitEvent") && recording_.joins.size() < kMostEvents) recording_.joins.push_back(start);
}

// A copy that had ended before its call returned was waited for: one from or to memory that is not pinned.
void RecordingBuilder::note_wait(const WorkEvent& event) {
  if (recording_.kinds[event.kind].activity != Activity::copy || event.launched < 0 || event.returned < event.end())
    return;
  if (recording_.waits.size() < kMostEvents) recording_.waits.push_back({event.launched, event.returned});
}

// Gives every event its operator and the host's call, and kinds their sums. A kind splits where different operators
// launched it.
void RecordingBuilder::resolve() {
  std::unordered_map<std::uint64_t, std::uint32_t> split;  // kind, operator -> kind
  const std::size_t named = recording_.kinds.size();
  std::vector<bool> taken(named, false);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> calls;  // operator, external id
  for (Raw& raw : raw_) {
    if (const auto launch = launches_.find(raw.correlation); raw.correlation != 0 && launch != launches_.end()) {
      raw.event.launched = launch->second.start;
      raw.event.returned = launch->second.end;
      if (raw.external == 0) raw.external = launch->second.external;
    }
    raw.event.call = static_cast<std::uint32_t>(raw.external);
    const auto call = raw.external == 0 ? calls_.end() : calls_.find(raw.external);
    const int op = call == calls_.end() ? -1 : static_cast<int>(call->second);
    const auto key = static_cast<std::uint64_t>(raw.event.kind) << 32 | static_cast<std::uint32_t>(op);
    const auto [at, is_new] = split.emplace(key, raw.event.kind);
    if (is_new) {
      if (taken[raw.event.kind]) {
        at->second = static_cast<std::uint32_t>(recording_.kinds.size());
        WorkKind copy = recording_.kinds[raw.event.kind];
        copy.count = 0;
        copy.total = copy.fastest = seconds(0);
        copy.bytes = bytes(0);
        recording_.kinds.push_back(std::move(copy));
      } else {
        taken[raw.event.kind] = true;
      }
      recording_.kinds[at->second].op = op;
    }
    raw.event.kind = at->second;
    note_wait(raw.event);
    WorkKind& kind = recording_.kinds[raw.event.kind];
    const Seconds duration = nanoseconds(static_cast<double>(raw.event.duration));
    kind.fastest = kind.count == 0 ? duration : std::min(kind.fastest, duration);
    ++kind.count;
    kind.total += duration;
    if (op >= 0) calls.emplace_back(static_cast<std::uint32_t>(op), raw.external);
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  for (const auto& [op, external] : calls) ++recording_.operators[op].calls;
  calls_ = {};
  launches_ = {};
}

Result<Recording> RecordingBuilder::finish() && {
  if (works_ == 0)
    return Error{recording_.path, "",
                 fmt::format("holds no GPU work{} (read as {})", without_time_ > 0 ? " with a valid time" : "",
                             recording_.format),
                 "record with GPU activity: ProfilerActivity.CUDA, or nsys profile --trace=cuda"};
  resolve();
  if (!(recording_.total() > seconds(0)))
    return Error{recording_.path, "", "says of all its GPU work that it took no time", "record it anew"};
  if (left_out_ > 0) note(fmt::format("{} entries beyond what fits in memory were left out", left_out_));
  if (without_time_ > 0) note(fmt::format("{} pieces of work without a valid time were left out", without_time_));
  if (timed_) {
    recording_.events.reserve(raw_.size());
    for (const Raw& raw : raw_) recording_.events.push_back(raw.event);
    std::sort(recording_.events.begin(), recording_.events.end(), [](const WorkEvent& a, const WorkEvent& b) {
      return a.start != b.start ? a.start < b.start : a.duration < b.duration;
    });
  }
  std::sort(recording_.joins.begin(), recording_.joins.end());
  std::sort(recording_.waits.begin(), recording_.waits.end(),
            [](const HostWait& a, const HostWait& b) { return a.end != b.end ? a.end < b.end : a.start < b.start; });
  std::sort(recording_.host.begin(), recording_.host.end(),
            [](const HostCallTime& a, const HostCallTime& b) { return a.total > b.total; });
  return std::move(recording_);
}

namespace {

Result<std::string> head_of(const std::string& path) {
  auto file = ByteReader::open(path);
  if (!file) return std::move(file).error();
  std::string head(1 << 12, '\0');
  auto got = file->read(head.data(), head.size());
  if (!got) return std::move(got).error();
  head.resize(*got);
  return head;
}

}  // namespace

Result<Recording> read_recording(const std::string& path, const Watch& watch) {
  auto head = head_of(path);
  if (!head) return std::move(head).error();
  if (head->empty()) return Error{path, "", "is empty", "give a profiler's trace"};
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep"))
    return Error{path, "", "is a report of Nsight Systems in its own format", "nsys export --type sqlite " + path};
  if (path.ends_with(".ncu-rep"))
    return Error{path, "", "is a report of Nsight Compute in its own format",
                 "ncu --import " + path + " --csv --page raw > kernels.csv"};
  if (head->starts_with(std::string_view("SQLite format 3\0", 16))) return read_nsys(path, watch);
  std::string_view text = *head;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) return read_kineto(path, watch);
  if (text.find('\0') != std::string_view::npos)
    return Error{path, "", "is not a trace in a known format",
                 "a PyTorch profiler trace (.json, .json.gz), an nsys SQLite export, or CSV of nsys stats or ncu"};
  return read_tables(path, watch);
}

}  // namespace tilecast
