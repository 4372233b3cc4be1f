// Questions of others than this machine's user: over a network, or of an assistant. What would read, write or run
// something of the machine is known by what its argument declares (Touches, tilecast/arguments.h). Files come by value,
// as {"name": "trace.json.gz", "base64": "..."}; nothing is written and no command is started. Paths are refused where
// restrict_inputs() (support/input.h) says so, and as such where the rules do. {"files": true} asks for what the
// command line would write: it stands in the answer as "files" (answers/answer_files.h). {"files": "chakra"} asks for
// a step's traces in place of the usual.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <string_view>

#include "answers/rows.h"
#include "tilecast/result.h"

namespace tilecast {

struct AnswerDrawings;

// What somebody who waits for a long answer may want.
struct AskWatch {
  std::function<void(double share)> progress = {};  // shares ascend; one call at a time, from any thread
  std::stop_token cancel = {};                      // long questions end soon after, with stopped()
};

struct ServedRules {
  bool paths = true;  // texts may name files, as far as restrict_inputs() allows; false: built-in names alone
  const AnswerDrawings* drawings = nullptr;  // of pictures and timelines (answers/drawings.h); null: none are made
};

Result<std::string> ask_served(std::string_view question, std::string_view query, const AskWatch& watch = {},
                               const ServedRules& rules = {});
Result<std::string> ask_served(std::string_view question, nlohmann::json query, const AskWatch& watch = {},
                               const ServedRules& rules = {});
// The same as rows of plain cells, which know no files.
Result<AnswerRows> ask_served_rows(std::string_view question, std::string_view query, const AskWatch& watch = {},
                                   const ServedRules& rules = {});

}  // namespace tilecast
