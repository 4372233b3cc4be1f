// Words of commands with their places filled in, quoted for a shell, a compose file or YAML.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "serve/launch_command.h"

namespace tilecast {

// What stands in a place: "server:3" -> "${hosts[0]}", as the reader of the text expands it.
using FillPlace = std::function<std::string(std::string_view place)>;

// Parts between places go through `literal`, places through `fill`.
std::string filled(std::string_view text, const FillPlace& fill,
                   const std::function<std::string(std::string_view)>& literal);
inline std::string filled(std::string_view text, const FillPlace& fill) {
  return filled(text, fill, [](std::string_view part) { return std::string(part); });
}
bool has_places(std::string_view text);
// What stands behind the mark of "server:3" or "rank*4".
int place_number(std::string_view place);

// One word, whatever is in it.
std::string shell_word(std::string_view word, const FillPlace& fill);
// A whole command on a line.
std::string shell_line(const LaunchCommand& command, const FillPlace& fill);

// A double-quoted string, which YAML and JSON read alike.
std::string yaml_string(std::string_view text);
// ["a", "b"]; compose reads $$ as $.
std::string compose_list(const std::vector<std::string>& words, const FillPlace& fill);
std::string compose_string(std::string_view word, const FillPlace& fill);
// Lines behind so many blanks.
std::string indented(std::string_view text, int blanks);

}  // namespace tilecast
