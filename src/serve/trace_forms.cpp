#include "serve/trace_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/json.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::array<std::string_view, kTraceFields> kTraceFieldNames = {
    "arrival",    "input",      "output", "prefix",   "prefix_tokens", "pause", "turn",
    "new_tokens", "max_tokens", "class",  "priority", "adapter",       "images"};

constexpr double kMilli = 1e-3, kNano = 1e-9;
constexpr TraceColumn kColumns[] = {{"arrival", TraceField::arrival},
                                    {"arrivals", TraceField::arrival},
                                    {"arrivedat", TraceField::arrival},
                                    {"arrivaltime", TraceField::arrival},
                                    {"arrivalms", TraceField::arrival, kMilli},
                                    {"arrivaltimens", TraceField::arrival, kNano},
                                    {"timestamp", TraceField::arrival},
                                    {"timestampms", TraceField::arrival, kMilli},
                                    {"input", TraceField::input},
                                    {"inputtokens", TraceField::input},
                                    {"inputlength", TraceField::input},
                                    {"inputtoks", TraceField::input},
                                    {"prompttokens", TraceField::input},
                                    {"contexttokens", TraceField::input},
                                    {"numprefilltokens", TraceField::input},
                                    {"output", TraceField::output},
                                    {"outputtokens", TraceField::output},
                                    {"outputlength", TraceField::output},
                                    {"outputtoks", TraceField::output},
                                    {"generatedtokens", TraceField::output},
                                    {"numdecodetokens", TraceField::output},
                                    {"prefix", TraceField::prefix},
                                    {"prefixtokens", TraceField::prefix_tokens},
                                    {"pause", TraceField::pause},
                                    {"pausems", TraceField::pause, kMilli},
                                    {"delay", TraceField::pause, kMilli},  // AIPerf's
                                    {"turn", TraceField::turn},
                                    {"newtokens", TraceField::fresh},
                                    {"maxtokens", TraceField::most_output},
                                    {"class", TraceField::group},
                                    {"priority", TraceField::priority},
                                    {"adapter", TraceField::adapter},
                                    {"images", TraceField::media}};

// The largest token count, the latest arrival and the largest name that make sense: 2^30 tokens, a hundred years.
constexpr double kMostTraceTokens = 1 << 30, kMostSeconds = 3.2e9, kMostName = 1e15;
constexpr double kMostClass = 32767, kMostPriority = 1e9, kMostMedia = 1e4;
constexpr Count kMooncakeBlock = 512, kBailianBlock = 16;
constexpr std::size_t kMostBlocks = std::size_t{1} << 21;

// Days since 1970 of a date of the Gregorian calendar.
double days_of(int year, int month, int day) {
  const int y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
  const int era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
  const int of_year = (153 * m + 2) / 5 + day - 1;
  const int leap_days = of_era / 4 - of_era / 100;
  return era * 146097.0 + of_era * 365 + leap_days + of_year - 719468;
}

// "2023-11-16 18:17:03.9799600": seconds since 1970.
std::optional<double> date(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') || text[13] != ':' ||
      text[16] != ':')
    return std::nullopt;
  const auto part = [&](std::size_t at, std::size_t length) { return finite_number(text.substr(at, length)); };
  std::string_view rest = text.substr(17);
  if (const auto zone = rest.find_first_of("Z+"); zone != std::string_view::npos) rest = rest.substr(0, zone);
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2), hour = part(11, 2), minute = part(14, 2);
  const auto second = finite_number(rest);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (*year < 1970 || *year > 9999 || *month < 1 || *month > 12 || *day < 1 || *day > 31 || *hour > 23 ||
      *minute > 59 || *second > 61)
    return std::nullopt;
  return days_of(static_cast<int>(*year), static_cast<int>(*month), static_cast<int>(*day)) * 86400 + *hour * 3600 +
         *minute * 60 + *second;
}

}  // namespace

const TraceColumn* trace_column(std::string_view name) {
  const std::string key = name_key(name);
  const auto found =
      std::find_if(std::begin(kColumns), std::end(kColumns), [&](const TraceColumn& c) { return c.key == key; });
  return found == std::end(kColumns) ? nullptr : found;
}

bool is_conversation(std::string_view name) {
  const std::string key = name_key(name);
  return key == "conversation" || key == "conversationid" || key == "sessionid";
}

std::string_view name_of(TraceField field) { return kTraceFieldNames[static_cast<std::size_t>(field)]; }

Status TraceLine::set(const TraceColumn& column, std::string_view text) {
  auto value = finite_number(text);
  if (!value && column.field == TraceField::arrival) value = date(text);
  if (!value)
    return field_error(std::string(name_of(column.field)), fmt::format("'{}' is not a number", text.substr(0, 40)));
  values[static_cast<std::size_t>(column.field)] = *value * column.unit;
  return Ok{};
}

Result<double> TraceLine::get(TraceField field, double least, double most, std::optional<double> otherwise) const {
  const std::string name(name_of(field));
  const std::optional<double>& given = values[static_cast<std::size_t>(field)];
  if (!given && !otherwise) return field_error(name, "is missing");
  const double value = given.value_or(otherwise.value_or(0));
  if (!(value >= least) || value > most)
    return field_error(name, fmt::format("must lie between {} and {}, not {}", least, most, value));
  if (field != TraceField::arrival && field != TraceField::pause && value != std::floor(value))
    return field_error(name, fmt::format("must be a whole number, not {}", value));
  return value;
}

namespace {

Status set_json(TraceLine& line, const nlohmann::json& object, bool milliseconds) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    if (is_conversation(name)) {
      if (value.is_string()) line.conversation = value.get<std::string>();
      else if (value.is_number_integer()) line.conversation = value.dump();
      else if (value.is_number()) line.conversation = fmt::format("{}", value.get<double>());
      else return field_error(name, "must be a text or a number");
      continue;
    }
    const TraceColumn* column = trace_column(name);
    if (!column) continue;
    TraceColumn in = *column;
    if (name == "timestamp" && milliseconds) in.unit = kMilli;
    Status fine = Ok{};
    if (value.is_number()) fine = line.set(in, fmt::format("{}", value.get<double>()));
    else if (value.is_string()) fine = line.set(in, value.get_ref<const std::string&>());
    else if (in.field == TraceField::media && value.is_array()) fine = line.set(in, fmt::format("{}", value.size()));
    else fine = field_error(name, "must be a number");
    if (!fine) return fine;
  }
  return Ok{};
}

Status set_blocks(TraceLine& line, const nlohmann::json& object) {
  const auto ids = object.find("hash_ids");
  if (ids == object.end() || ids->is_null()) return Ok{};
  if (!ids->is_array() || ids->size() > kMostBlocks) return field_error("hash_ids", "must be a list of numbers");
  for (const auto& id : *ids) {
    if (!id.is_number_integer()) return field_error("hash_ids", "must be a list of whole numbers");
    line.blocks.push_back(id.get<std::int64_t>());
  }
  line.block_tokens = object.contains("chat_id") ? kBailianBlock : kMooncakeBlock;
  return Ok{};
}

// A token every four characters, as AIPerf's own generators estimate it: a tokeniser would be needed to know.
constexpr double kCharactersOfToken = 4;
double tokens_of(const nlohmann::json& turn) {
  double characters = 0;
  for (const char* name : {"text", "text_input"})  // the second of AIPerf's mooncake_trace
    if (const auto text = turn.find(name); text != turn.end() && text->is_string())
      characters += static_cast<double>(text->get_ref<const std::string&>().size());
  if (const auto texts = turn.find("texts"); texts != turn.end() && texts->is_array())
    for (const auto& text : *texts)
      if (text.is_string()) characters += static_cast<double>(text.get_ref<const std::string&>().size());
  return std::max(1.0, std::ceil(characters / kCharactersOfToken));
}

// AIPerf's multi_turn: a session a line. A system turn at its head belongs to every prompt.
Result<std::vector<TraceLine>> session_lines(const nlohmann::json& session, bool& guessed) {
  const auto& turns = session["turns"];
  if (!turns.is_array() || turns.empty()) return field_error("turns", "must be a list of turns");
  std::vector<TraceLine> lines;
  double before = 0;
  for (const auto& turn : turns) {
    if (!turn.is_object()) return field_error("turns", "each must be an object");
    TraceLine line;
    if (auto fine = set_json(line, session, true); !fine) return fine.error();
    if (!lines.empty()) line.values[static_cast<std::size_t>(TraceField::arrival)].reset();
    if (auto fine = set_json(line, turn, true); !fine) return fine.error();
    if (!line.has(TraceField::media) && turn.contains("image"))
      line.values[static_cast<std::size_t>(TraceField::media)] = 1;
    auto& input = line.values[static_cast<std::size_t>(TraceField::input)];
    if (!input) input = tokens_of(turn), guessed = true;
    const auto role = turn.find("role");
    if (lines.empty() && before == 0 && role != turn.end() && *role == "system" && turns.size() > 1) {
      before = *input;
      continue;
    }
    if (lines.empty()) *input += before;
    line.values[static_cast<std::size_t>(TraceField::fresh)] = *input;
    input.reset();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

Result<std::vector<TraceLine>> trace_lines(std::string_view text, bool& guessed) {
  const auto parsed = parse_json_object(text, "", "");
  if (!parsed) return error("is not a JSON object", "one a line: {\"arrival\": 0, \"input\": 9, \"output\": 5}");
  const nlohmann::json& json = *parsed;
  if (json.contains("turns")) return session_lines(json, guessed);
  TraceLine line;
  const bool session = json.contains("session_id") && !json["session_id"].is_null();
  const bool milliseconds = (json.contains("hash_ids") && !json.contains("chat_id")) || session;
  if (auto fine = set_json(line, json, milliseconds); !fine) return fine.error();
  if (auto fine = set_blocks(line, json); !fine) return fine.error();
  auto& input = line.values[static_cast<std::size_t>(TraceField::input)];
  if (!input && !line.has(TraceField::fresh) && (json.contains("text_input") || json.contains("text")))
    input = tokens_of(json), guessed = true;
  if (session && input) line.values[static_cast<std::size_t>(TraceField::fresh)] = std::exchange(input, std::nullopt);
  return std::vector<TraceLine>{std::move(line)};
}

// A turn after another: its prompt is what the conversation came to, and what it adds.
Status TraceRequests::follow(Request& r, const TraceLine& line) {
  const auto turn = line.get(TraceField::turn, 0, kMostTraceTokens, 0);
  if (!turn) return turn.error();
  Conversation& c = conversations_[line.conversation];
  const auto number = static_cast<Count>(*turn);
  if (c.last >= 0 && line.has(TraceField::turn) && number <= c.turn)
    return field_error("turn", fmt::format("must be above the conversation's last, {}, not {}", c.turn, number));
  c.turn = number;
  const std::int32_t before = std::exchange(c.last, static_cast<std::int32_t>(trace_.requests.size()));
  if (before < 0) return Ok{};
  const Request& last = trace_.requests[static_cast<std::size_t>(before)];
  const Count so_far = last.input + last.output;
  r.after = before;
  if (line.has(TraceField::fresh)) r.input += so_far;
  if (static_cast<double>(r.input) > kMostTraceTokens)
    return field_error("new_tokens", "the conversation becomes longer than 2^30 tokens");
  // A prompt that is shorter than what it would follow was begun anew.
  r.history = r.input > so_far;
  if (r.history) {
    r.prefix = last.prefix, r.prefix_tokens = last.prefix_tokens;
    if (r.adapter < 0 && !line.has(TraceField::adapter)) r.adapter = last.adapter;
  }
  if (!line.has(TraceField::arrival)) r.arrival = last.arrival;
  r.arrival = std::max(r.arrival, last.arrival);
  return Ok{};
}

Status TraceRequests::add(const TraceLine& line) {
  Request r;
  const bool later = !line.conversation.empty() && conversations_.contains(line.conversation);
  const bool fresh = line.has(TraceField::fresh);
  const TraceField length = fresh ? TraceField::fresh : TraceField::input;
  // AIPerf leaves the lengths of answers out; elsewhere that is a mistake.
  const bool open = options_.output > 0 && !line.conversation.empty();
  const std::optional<double> output = open ? std::optional(static_cast<double>(options_.output)) : std::nullopt;
  struct Wanted {
    TraceField field;
    double least, most;
    std::optional<double> otherwise;
    double value = 0;
  };
  const std::optional<double> no_arrival = later || !line.conversation.empty() ? std::optional(0.0) : std::nullopt;
  Wanted wanted[] = {{TraceField::arrival, 0, kMostSeconds, no_arrival},
                     {length, 1, kMostTraceTokens, {}},
                     {TraceField::output, 1, kMostTraceTokens, output},
                     {TraceField::prefix, -1, kMostName, -1},
                     {TraceField::prefix_tokens, 0, kMostTraceTokens, 0},
                     {TraceField::pause, 0, kMostSeconds, 0},
                     {TraceField::most_output, 1, kMostTraceTokens, 0},
                     {TraceField::group, 0, kMostClass, 0},
                     {TraceField::priority, -kMostPriority, kMostPriority, 0},
                     {TraceField::adapter, -1, kMostPriority, -1},
                     {TraceField::media, 0, kMostMedia, 0}};
  for (Wanted& w : wanted) {
    if (!line.has(w.field) && w.otherwise) {
      w.value = *w.otherwise;
      continue;
    }
    const auto value = line.get(w.field, w.least, w.most, w.otherwise);
    if (!value) return value.error();
    w.value = *value;
  }
  r.arrival = seconds(wanted[0].value);
  r.input = static_cast<Count>(wanted[1].value), r.output = static_cast<Count>(wanted[2].value);
  r.prefix = static_cast<Count>(wanted[3].value);
  if (wanted[4].value > static_cast<double>(r.input))
    return field_error("prefix_tokens", fmt::format("must lie between 0 and {}, not {}", r.input, wanted[4].value));
  r.prefix_tokens = r.prefix >= 0 ? static_cast<Count>(wanted[4].value) : 0;
  r.pause = seconds(wanted[5].value);
  r.most_output = static_cast<Count>(wanted[6].value);
  // Before a later turn takes the answer into its prompt.
  if (options_.most_output > 0)
    r.most_output = r.most_output > 0 ? std::min(r.most_output, options_.most_output) : options_.most_output;
  if (r.most_output > 0) r.output = std::min(r.output, r.most_output);
  r.group = static_cast<std::int16_t>(wanted[7].value), r.priority = static_cast<std::int32_t>(wanted[8].value);
  r.adapter = static_cast<std::int32_t>(wanted[9].value), r.media = static_cast<std::int32_t>(wanted[10].value);
  if (!line.conversation.empty())
    if (auto fine = follow(r, line); !fine) return fine;
  if (!line.blocks.empty()) {
    if (block_tokens_ > 0 && block_tokens_ != line.block_tokens)
      return field_error("hash_ids", "the trace mixes blocks of two sizes");
    block_tokens_ = line.block_tokens;
    ends_.resize(trace_.requests.size(), -1);
    ends_.push_back(r.history ? -1 : blocks_.add(line.blocks));
    r.prefix = -1, r.prefix_tokens = 0;
  }
  trace_.requests.push_back(r);
  return Ok{};
}

void TraceRequests::put_in_order() {
  std::vector<Request>& requests = trace_.requests;
  const auto earlier = [](const Request& a, const Request& b) { return a.arrival < b.arrival; };
  if (!std::is_sorted(requests.begin(), requests.end(), earlier)) {
    std::vector<std::int32_t> order(requests.size()), place(requests.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    // A turn arrives no earlier than the one before it, which stands before it: both stay in that order.
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return earlier(requests[static_cast<std::size_t>(a)], requests[static_cast<std::size_t>(b)]);
    });
    std::vector<Request> sorted;
    sorted.reserve(requests.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
      sorted.push_back(requests[static_cast<std::size_t>(order[i])]);
      if (sorted.back().after >= 0) sorted.back().after = place[static_cast<std::size_t>(sorted.back().after)];
    }
    requests = std::move(sorted);
    if (conversations_.empty()) trace_.notes.emplace_back("arrivals were not in order: sorted");
  }
  if (requests.empty()) return;
  const Seconds first = requests.front().arrival;
  for (Request& r : requests) r.arrival -= first;
}

Trace TraceRequests::take() {
  if (block_tokens_ > 0) {
    ends_.resize(trace_.requests.size(), -1);
    trace_.paths = blocks_.paths(trace_.requests, ends_, block_tokens_);
    // A later turn begins as its conversation did.
    for (Request& r : trace_.requests)
      if (r.history) r.path = trace_.requests[static_cast<std::size_t>(r.after)].path;
  }
  put_in_order();
  return std::move(trace_);
}

}  // namespace tilecast
