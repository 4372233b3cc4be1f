#include "cluster/comm_constants.h"

#include "targets.h"

namespace tilecast {

std::string fuzz_comm_constants(std::string_view input) {
  const auto constants = parse_comm_constants(input, "fuzz.txt");
  if (!constants) return constants.error().problem.empty() ? "an error without a text" : "";
  const std::string text = comm_constants_text(*constants);
  const auto again = parse_comm_constants(text, "again.txt");
  if (!again) return "the constants' text is refused: " + again.error().line();
  return comm_constants_text(*again) == text ? "" : "the constants' text does not read back";
}

}  // namespace tilecast
