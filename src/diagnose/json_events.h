// The events of a Chrome trace, one text at a time, from files too large to hold: a scanner that only matches brackets
// and quotes, and a cursor that reads the fields of one event.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "support/gzip_reader.h"
#include "tilecast/result.h"
#include "tilecast/watch.h"

namespace tilecast {

// Reads one JSON text in order. Never runs past its end; what is malformed leaves `bad` set and the rest unread.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool bad() const { return bad_; }
  bool take(char c);         // the next character that is no space, if it is this one
  char peek();               // ... without taking it; 0 at the end
  std::string_view text();   // a string without its quotes, escapes left as they are
  std::string_view value();  // any value, whole
  // Calls `field(key)` for each field of the object here; it must read the value with this cursor.
  template <class Field>
  void object(Field&& field) {
    if (!take('{')) return fail();
    if (take('}')) return;
    do {
      const std::string_view key = text();
      if (!take(':')) return fail();
      field(key);
    } while (!bad_ && take(','));
    if (!take('}')) fail();
  }
  template <class Item>
  void array(Item&& item) {
    if (!take('[')) return fail();
    if (take(']')) return;
    do item();
    while (!bad_ && take(','));
    if (!take(']')) fail();
  }

 private:
  void fail() { bad_ = true, at_ = end_; }
  const char* at_;
  const char* end_;
  bool bad_ = false;
};

// A JSON string's text with its escapes undone.
std::string unescaped(std::string_view raw);

// Microseconds as text to nanoseconds, exactly: a double loses them in traces whose clock starts in 1970. Nothing for
// what is no number, or more than 71 years.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

// Calls `event` with the text of each object of "traceEvents" (or of the array that is the whole file), and `other`
// with the other fields of the file; stops at the first error. A file that ends early is an error.
Status scan_events(const std::string& path, const std::function<Status(std::string_view)>& event,
                   const std::function<void(std::string_view key, std::string_view value)>& other,
                   const Watch& watch = {});

}  // namespace tilecast
