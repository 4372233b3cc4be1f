// Questions as programs ask them: a name and an object of arguments in, the document that `tilecast NAME --json` prints
// out.
//
//   auto answer = ask("kernel", R"({"family": "gemm", "m": 4096, "n": 4096, "k": 4096, "gpu": ["H100-SXM", "B200"]})");
//
// Members are the question's declared arguments (tilecast/arguments.h), with underscores or hyphens. A value is a text
// as on the command line, a number, true or false, a list where the argument takes several, or null for none; a GPU, a
// cluster or a model may be its description itself.
//
// A count, a number or a size may be a list or a range as well, [1, 8, 16] or "1,8..64": the question is asked once for
// every combination, and the answer is a list whose objects have their own "arguments" in front (answers/sweep.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answers/rows.h"
#include "tilecast/arguments.h"
#include "tilecast/kernel.h"
#include "tilecast/step.h"

namespace tilecast {

Result<std::string> ask(std::string_view question, std::string_view query);

// The same as rows of plain cells. `progress` hears of the share of combinations that is done, from any thread.
Result<AnswerRows> ask_rows(std::string_view question, std::string_view query,
                            const std::function<void(double)>& progress = {});

// Whether a query is asked more than once: a number of it is a list or a range.
Result<bool> is_swept(std::string_view question, std::string_view query);

// Many of them, a JSON list: the answers as a list in the same order, {"answer": ...} or {"error": ...} each. Asked on
// `threads` threads, 0: all that the machine has.
Result<std::string> ask_many(std::string_view question, std::string_view queries, int threads);

// "kernel", "plan serve" ...
const std::vector<std::string>& question_names();

// All questions with their arguments, as JSON.
std::string questions_json();

// A kernel without the dimensions that columns give, and a model's steps: queries of the forms that take arrays.
Result<KernelQuery> kernel_query(std::string_view query);
Result<StepQuery> step_query(std::string_view query);

}  // namespace tilecast
