#include "diagnose/json_events.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "tilecast/units.h"

namespace tilecast {
namespace {

constexpr std::size_t kBlock = 1 << 20;
// An event with a long Python stack takes kilobytes. A larger one is no event and must not exhaust memory.
constexpr std::size_t kMostValue = std::size_t{32} << 20;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The first quote at or after `at` that no backslash escapes, or `end`.
const char* closing_quote(const char* at, const char* end) {
  while (at < end) {
    const auto* quote = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (!quote) return end;
    const char* before = quote;
    while (before > at && before[-1] == '\\') --before;
    if ((quote - before) % 2 == 0) return quote;
    at = quote + 1;
  }
  return end;
}

// Where the value that starts at `at` ends, or null where the text ends first. Brackets are counted, not paired: the
// cursor sees to that.
const char* end_of_value(const char* at, const char* end) {
  int depth = 0;
  for (; at < end; ++at) {
    switch (*at) {
      case '"':
        at = closing_quote(at + 1, end);
        if (at == end) return nullptr;
        if (depth == 0) return at + 1;
        break;
      case '{':
      case '[': ++depth; break;
      case '}':
      case ']':
        if (depth == 0) return at;  // behind a number
        if (--depth == 0) return at + 1;
        break;
      case ',':
        if (depth == 0) return at;
        break;
      default: break;
    }
  }
  return nullptr;
}

// A window over the file that grows to hold one value.
class Window {
 public:
  explicit Window(ByteReader file) : file_(std::move(file)) {}

  // The next character that is no space, 0 at the end of the file.
  Result<char> peek() {
    for (const std::size_t from = before_ + begin_;;) {
      while (begin_ < end_ && is_space(buffer_[begin_])) ++begin_;
      if (begin_ < end_) return buffer_[begin_];
      if (before_ + begin_ - from > kMostValue)  // four gigabytes of them fit in four megabytes of gzip
        return Error{file_.path(), "", fmt::format("more than {} MiB of blanks follow byte {}", kMostValue >> 20, from),
                     "is it a profiler's trace?"};
      auto more = fill();
      if (!more) return std::move(more).error();
      if (!*more) return '\0';
    }
  }
  void skip() { ++begin_; }

  // The value that starts here, whole; empty where the file ends first.
  Result<std::string_view> value() {
    while (true) {
      const char* from = buffer_.data() + begin_;
      if (const char* end = end_of_value(from, buffer_.data() + end_)) {
        begin_ += static_cast<std::size_t>(end - from);
        return std::string_view(from, static_cast<std::size_t>(end - from));
      }
      if (end_ - begin_ > kMostValue)
        return Error{file_.path(), "",
                     fmt::format("one value is longer than {} MiB, after {} bytes", kMostValue >> 20, before_ + begin_),
                     "is it a profiler's trace?"};
      auto more = fill();
      if (!more) return std::move(more).error();
      if (!*more) return std::string_view();
    }
  }
  Count position() const { return static_cast<Count>(before_ + begin_); }

 private:
  Result<bool> fill() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      before_ += begin_;
      end_ -= begin_;
      begin_ = 0;
    }
    // Twice as much each time, so that a long value is not scanned over and over.
    const std::size_t wanted = std::max(kBlock, end_);
    if (buffer_.size() < end_ + wanted) buffer_.resize(end_ + wanted);
    auto got = file_.read(buffer_.data() + end_, wanted);
    if (!got) return std::move(got).error();
    end_ += *got;
    return *got > 0;
  }

  ByteReader file_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t before_ = 0;  // bytes of the file before the buffer
};

class EventScan {
 public:
  EventScan(Window window, std::string path) : window_(std::move(window)), path_(std::move(path)) {}

  Status whole(const std::function<Status(std::string_view)>& event,
               const std::function<void(std::string_view, std::string_view)>& other) {
    auto first = window_.peek();
    if (!first) return std::move(first).error();
    if (*first == '[') return events(event);
    if (*first != '{') return wrong("is not JSON");
    window_.skip();
    bool found = false;
    while (true) {
      auto next = window_.peek();
      if (!next) return std::move(next).error();
      if (*next == '\0') return cut();
      if (*next == '}') break;
      if (*next == ',') {
        window_.skip();
        continue;
      }
      if (*next != '"') return wrong("is not JSON");
      auto quoted = window_.value();
      if (!quoted) return std::move(quoted).error();
      if (quoted->size() < 2) return cut();
      const std::string key(quoted->substr(1, quoted->size() - 2));
      auto colon = window_.peek();
      if (!colon) return std::move(colon).error();
      if (*colon == '\0') return cut();
      if (*colon != ':') return wrong("is not JSON");
      window_.skip();
      auto start = window_.peek();
      if (!start) return std::move(start).error();
      if (key == "traceEvents" && *start == '[') {
        found = true;
        if (auto done = events(event); !done) return done;
        continue;
      }
      auto value = window_.value();
      if (!value) return std::move(value).error();
      if (value->empty()) return *start == '}' || *start == ',' || *start == ']' ? wrong("is not JSON") : cut();
      other(key, *value);
    }
    if (!found)
      return Error{path_, "traceEvents", "is missing", "is it a trace of torch.profiler (export_chrome_trace)?"};
    return Ok{};
  }

 private:
  Status events(const std::function<Status(std::string_view)>& event) {
    window_.skip();
    while (true) {
      auto next = window_.peek();
      if (!next) return std::move(next).error();
      if (*next == '\0') return cut();
      if (*next == ']') return window_.skip(), Ok{};
      if (*next == ',') {
        window_.skip();
        continue;
      }
      if (*next != '{') return wrong("an event is not an object");
      auto text = window_.value();
      if (!text) return std::move(text).error();
      if (text->empty()) return cut();
      if (auto done = event(*text); !done) return done;
      ++events_;
    }
  }
  Status cut() const {
    return Error{path_, "", fmt::format("ends too early, after {} events", events_),
                 "copy the file again, or let the profiler finish writing it"};
  }
  Status wrong(const std::string& what) const {
    return Error{path_, "", fmt::format("{} (byte {})", what, window_.position()),
                 "is it a trace of torch.profiler (export_chrome_trace)?"};
  }

  Window window_;
  std::string path_;
  Count events_ = 0;
};

}  // namespace

char JsonCursor::peek() {
  while (at_ < end_ && is_space(*at_)) ++at_;
  return at_ < end_ ? *at_ : '\0';
}

bool JsonCursor::take(char c) {
  if (peek() != c || at_ == end_) return false;
  ++at_;
  return true;
}

std::string_view JsonCursor::text() {
  if (!take('"')) return fail(), std::string_view();
  const char* close = closing_quote(at_, end_);
  if (close == end_) return fail(), std::string_view();
  const std::string_view found(at_, static_cast<std::size_t>(close - at_));
  at_ = close + 1;
  return found;
}

std::string_view JsonCursor::value() {
  if (peek() == '\0') return fail(), std::string_view();
  const char* stop = end_of_value(at_, end_);
  if (!stop) stop = end_;
  if (stop == at_) return fail(), std::string_view();
  std::string_view found(at_, static_cast<std::size_t>(stop - at_));
  at_ = stop;
  while (!found.empty() && is_space(found.back())) found.remove_suffix(1);
  return found;
}

std::string unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    switch (const char c = raw[++i]) {
      case 'n':
      case 'r':
      case 't': text += ' '; break;
      case 'b':
      case 'f': break;
      case 'u': {
        unsigned code = 0;
        const std::string_view digits = raw.substr(i + 1, 4);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        i += static_cast<std::size_t>(read.ptr - digits.data());
        text += code >= 0x20 && code < 0x7f ? static_cast<char>(code) : '?';  // kernel names are ASCII
        break;
      }
      default: text += c;
    }
  }
  return text;
}

std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto read = std::from_chars(text.data(), end, whole);
  constexpr std::int64_t kMost = std::int64_t{1} << 51;  // 71 years
  if (read.ec == std::errc{} && whole > -kMost && whole < kMost && (read.ptr == end || *read.ptr == '.')) {
    std::int64_t nanos = 0, scale = 100;
    const char* at = read.ptr == end ? end : read.ptr + 1;
    for (; at < end && *at >= '0' && *at <= '9'; ++at, scale /= 10) nanos += scale * (*at - '0');
    if (at == end) return whole * 1000 + (text.front() == '-' ? -nanos : nanos);
  }
  double value = 0;
  const auto real = std::from_chars(text.data(), end, value);
  if (real.ec != std::errc{} || !(std::abs(value) < static_cast<double>(kMost))) return std::nullopt;
  return std::llround(value * 1000);
}

Status scan_events(const std::string& path, const std::function<Status(std::string_view)>& event,
                   const std::function<void(std::string_view, std::string_view)>& other, const Watch& watch) {
  auto file = ByteReader::open(path, watch);
  if (!file) return std::move(file).error();
  return EventScan(Window(*std::move(file)), path).whole(event, other);
}

}  // namespace tilecast
