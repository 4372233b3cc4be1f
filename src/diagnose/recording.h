// What a profiler recorded, whatever its format: which work the GPU did, when, and what the host did around it.
//
// Files may be gigabytes; a recording is small. Names, launches and operators are kept once each; an event takes 48
// bytes. Readers (read_kineto, read_nsys, read_tables) feed a RecordingBuilder one event at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tilecast/diagnose.h"
#include "tilecast/result.h"
#include "tilecast/units.h"
#include "tilecast/watch.h"

namespace tilecast {

enum class Activity : std::uint8_t { kernel, copy, fill };

// As launched; zeros where the file does not say.
struct LaunchShape {
  std::array<std::int32_t, 3> grid{}, block{};
  std::int32_t registers = 0, shared_bytes = 0;
  Count ctas() const { return Count{grid[0]} * grid[1] * grid[2]; }
  Count threads() const { return Count{block[0]} * block[1] * block[2]; }
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

// An operator of the framework as it was called: "aten::mm" of [[512, 4096], [4096, 6144]], "c10::BFloat16".
struct OperatorCall {
  std::string name;
  // One entry an input; empty for what is no tensor. A list of tensors counts as one of all their elements.
  std::vector<std::vector<Count>> dims;
  std::vector<std::string> types;
  std::vector<std::string> scalars;  // values of what is no tensor, where the file has them
  std::vector<Count> result;         // dims of what it returns, where another operator tells (result_dims.h)
  Count calls = 0;                   // that launched any work
  std::string text() const;          // name and dims, as one line
};

// What Nsight Compute counted; zero where it did not.
struct Counters {
  double memory_share = 0, compute_share = 0;  // of peak, from 0 to 1 ("speed of light"); of several kernels, the mean
  Bytes dram;                                  // read and written, in all
  Seconds time;                                // of the kernels counted
  void add(const Counters& other, Seconds duration);
};

// Work of the same name, launch and operator.
struct WorkKind {
  std::string name;
  Activity activity = Activity::kernel;
  LaunchShape launch;
  int op = -1;  // into Recording::operators; -1: not known
  Count count = 0;
  Seconds total, fastest;
  Bytes bytes;  // moved by copies and fills, in all
  std::optional<Counters> counters;
  std::string shape;     // "gemm bf16 m=..;n=..;k=..", given by our own tables
  std::string exchange;  // of a collective, as the profiler told it (exchange.h); may be empty
};

struct WorkEvent {
  std::int64_t start = 0, duration = 0;  // ns
  std::uint32_t kind = 0;
  std::uint32_t lane = 0;                     // device and stream
  std::int64_t launched = -1, returned = -1;  // of the host's call, ns; -1: not known
  std::uint32_t place = 0;                    // number of the event in its file, from zero
  std::uint32_t call = 0;                     // tells an operator's calls apart; 0: not known
  std::int64_t end() const { return start + duration; }
};

// The host waited for the GPU, ns.
struct HostWait {
  std::int64_t start = 0, end = 0;
};

struct Lane {
  Count device = 0, stream = 0;
};

struct Recording {
  std::string path, format;
  bool kineto = false;  // a PyTorch profiler's trace
  std::string gpu;      // as the file names it; may be empty
  std::vector<OperatorCall> operators;
  std::vector<WorkKind> kinds;
  std::vector<WorkEvent> events;  // by start; empty where the file holds no times of day
  std::vector<Lane> lanes;
  std::vector<HostCallTime> host;   // calls of the runtime, longest first
  std::vector<HostWait> waits;      // of them, those that wait for the GPU; by their ends
  std::vector<std::int64_t> joins;  // when the host let one stream wait for another, ns; in order
  std::vector<std::string> notes;   // what the reader left out
  Seconds total() const;            // of all work, side by side or not
};

// One piece of work as a reader sees it.
struct WorkSeen {
  std::string_view name;
  Activity activity = Activity::kernel;
  LaunchShape launch;
  std::optional<std::int64_t> start;  // ns
  std::int64_t duration = 0;          // ns, of all `count` together
  Count count = 1;
  std::int64_t fastest = 0;  // ns; with count > 1
  Count device = 0, stream = 0;
  std::uint64_t external = 0, correlation = 0;  // 0: none
  double bytes = 0;
  std::optional<Counters> counters;
  std::string_view shape;
  std::string_view exchange;
  std::uint32_t place = 0;
};

// Times of files are taken only up to this, so that sums and differences of three of them fit; 73 years, in ns.
inline constexpr std::int64_t kMostTime = std::int64_t{1} << 61;
constexpr bool is_time(std::int64_t ns) { return ns > -kMostTime && ns < kMostTime; }

class RecordingBuilder {
 public:
  RecordingBuilder(std::string path, std::string format);

  void work(const WorkSeen& seen);
  // `inputs` is any text that tells calls of one operator apart; `make` reads it into an OperatorCall when it is new.
  template <class Make>
  void operator_call(std::uint64_t external, std::string_view inputs, Make&& make) {
    const auto found = operator_ids_.find(std::string(inputs));
    std::uint32_t id = 0;
    if (found != operator_ids_.end()) {
      id = found->second;
    } else {
      if (!fits(inputs.size())) return;
      id = static_cast<std::uint32_t>(recording_.operators.size());
      recording_.operators.push_back(make());
      operator_ids_.emplace(inputs, id);
    }
    calls_[external] = id;
  }
  // `external` stands in for work that names no operator itself; 0: none.
  void host_call(std::string_view name, std::int64_t start, std::int64_t duration, std::uint64_t correlation,
                 std::uint64_t external = 0);
  void without_time() { ++without_time_; }  // work whose time is none
  void set_kineto() { recording_.kineto = true; }
  void set_gpu(std::string name) { recording_.gpu = std::move(name); }
  void note(std::string text) { recording_.notes.push_back(std::move(text)); }
  Count works() const { return works_; }

  Result<Recording> finish() &&;

 private:
  bool fits(std::size_t bytes);
  std::uint32_t raw_kind(const WorkSeen& seen);
  std::uint32_t lane(Count device, Count stream);
  void note_wait(const WorkEvent& event);
  void resolve();

  struct Call {
    std::int64_t start, end;
    std::uint64_t external;
  };
  struct Raw {  // an event before its operator and launch are known
    WorkEvent event;
    std::uint64_t external, correlation;
  };
  Recording recording_;
  std::vector<Raw> raw_;
  std::unordered_map<std::string, std::uint32_t> kind_ids_, operator_ids_, host_ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> calls_;     // external id -> operator
  std::unordered_map<std::uint64_t, Call> launches_;           // correlation -> host's call
  std::map<std::pair<Count, Count>, std::uint32_t> lane_ids_;  // device, stream -> lane
  std::size_t text_bytes_ = 0;
  Count works_ = 0, left_out_ = 0, without_time_ = 0;
  bool timed_ = true;
};

// Whatever `path` holds: told by its content. An Error says what the file is not, and how to export what we read.
// Whoever watches hears how much of it is read.
Result<Recording> read_recording(const std::string& path, const Watch& watch = {});

// By format. `read_tables` takes the CSV of nsys stats, of Nsight Compute, and our own.
Result<Recording> read_kineto(const std::string& path, const Watch& watch = {});
Result<Recording> read_nsys(const std::string& path, const Watch& watch = {});
Result<Recording> read_tables(const std::string& path, const Watch& watch = {});

}  // namespace tilecast
