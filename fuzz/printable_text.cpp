#include "support/printable.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_printable_text(std::string_view input) {
  const std::string shown = printable(input);
  for (const char c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "a control character is left";
  if (printable(shown) != shown) return "what is printable changes";
  const std::string line = printable_line({std::string(input), std::string(input), std::string(input), ""});
  if (line.size() > 3000) return "a line longer than can be read";
  return printable(line) == line ? "" : "a character was cut in half";
}

}  // namespace tilecast
