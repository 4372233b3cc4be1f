// What the lines of a trace say, whatever their form, and how requests are made of them (serve/trace.cpp).
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "serve/trace.h"
#include "serve/trace_blocks.h"

namespace tilecast {

enum class TraceField : std::uint8_t {
  arrival, input, output, prefix, prefix_tokens, pause, turn, fresh, most_output, group, priority, adapter, media
};
inline constexpr std::size_t kTraceFields = 13;

struct TraceColumn {
  std::string_view key;  // as name_key() makes it
  TraceField field;
  double unit = 1;  // seconds
};
// Null where the name says nothing to us. Conversations have texts for names: is_conversation().
const TraceColumn* trace_column(std::string_view name);
bool is_conversation(std::string_view name);
std::string_view name_of(TraceField field);

// The values of one line, as they come.
struct TraceLine {
  std::array<std::optional<double>, kTraceFields> values;
  std::string conversation;
  std::vector<std::int64_t> blocks;  // hashes
  Count block_tokens = 0;

  Status set(const TraceColumn& column, std::string_view text);
  bool has(TraceField field) const { return values[static_cast<std::size_t>(field)].has_value(); }
  Result<double> get(TraceField field, double least, double most, std::optional<double> otherwise) const;
};

// The lines of one JSON object: one, or a session's turns.
Result<std::vector<TraceLine>> trace_lines(std::string_view text, bool& guessed);

// Requests as they come in, line by line.
class TraceRequests {
 public:
  explicit TraceRequests(const TraceOptions& options) : options_(options) {}
  Status add(const TraceLine& line);
  Count size() const { return static_cast<Count>(trace_.requests.size()); }
  void note(std::string text) { trace_.notes.push_back(std::move(text)); }
  Trace take();  // in order

 private:
  struct Conversation {
    std::int32_t last = -1;  // its latest turn
    Count turn = 0;
  };
  Status follow(Request& r, const TraceLine& line);
  void put_in_order();

  TraceOptions options_;
  Trace trace_;
  std::unordered_map<std::string, Conversation> conversations_;
  BlockTree blocks_;
  std::vector<std::int32_t> ends_;  // in the tree, of each request, once there is one with blocks
  Count block_tokens_ = 0;
};

}  // namespace tilecast
