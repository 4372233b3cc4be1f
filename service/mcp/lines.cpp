#include "service/mcp/lines.h"

namespace tilecast {

void BoundedLines::add(std::string_view part) {
  if (too_long_) return;
  if (line_.size() + part.size() > most_) {
    too_long_ = true;
    line_ = {};
    return;
  }
  line_ += part;
}

void BoundedLines::end_line() {
  if (line_.ends_with('\r')) line_.pop_back();
  take_(line_, too_long_);
  line_.clear();
  too_long_ = false;
}

void BoundedLines::put(std::string_view bytes) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    add(bytes.substr(0, end));
    end_line();
    bytes.remove_prefix(end + 1);
  }
  add(bytes);
}

void BoundedLines::finish() {
  if (!line_.empty() || too_long_) end_line();
}

}  // namespace tilecast
