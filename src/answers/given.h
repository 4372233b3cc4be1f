// A query as a JSON object, member by member, to the texts that declared arguments read.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answers/answer_files.h"
#include "answers/rows.h"
#include "answers/served.h"
#include "tilecast/arguments.h"
#include "tilecast/watch.h"

namespace tilecast {

class GivenArguments {
 public:
  static Result<GivenArguments> from(std::string_view query);
  static Result<GivenArguments> from(nlohmann::json query);

  // Values of an argument that may be asked for several times over; none where it was not given.
  Result<std::vector<std::string>> take_list(const std::string& name);
  // One text, or nothing.
  Result<std::string> take_text(const std::string& name);
  Result<bool> take_yes_no(const std::string& name);
  // Sets every argument that was given.
  Status fill(const std::vector<BoundArgument>& arguments);
  // Whatever was not asked for above, as texts by name.
  Result<std::vector<std::pair<std::string, std::string>>> take_rest();
  // For whoever waits for a long answer.
  void set_watch(const AskWatch& watch) { watch_ = watch; }
  const AskWatch& watch() const { return watch_; }
  Watch progress() const;
  // Whether what the command line would write is to stand in the answer.
  void set_files(FilesWish wish, const AnswerDrawings* drawings = nullptr) {
    files_ = wish;
    drawings_ = drawings;
  }
  bool wants_files() const { return files_ != FilesWish::none; }
  FilesWish files_wish() const { return files_; }
  // Who draws them; null: nobody does.
  const AnswerDrawings* drawings() const { return wants_files() ? drawings_ : nullptr; }

  // What was given, by names with hyphens.
  const nlohmann::json& members() const { return members_; }
  // Nothing is left; an error names what is, and what there could be.
  Status check_all_taken() const;

 private:
  const nlohmann::json* find(const std::string& name);

  nlohmann::json members_ = nlohmann::json::object();  // by names with hyphens
  std::set<std::string> known_;                        // names that were asked for
  AskWatch watch_;
  FilesWish files_ = FilesWish::none;
  const AnswerDrawings* drawings_ = nullptr;
};

// The answer to a question (answers/ask.h) with these arguments.
Result<std::string> ask_given(std::string_view question, GivenArguments given);
// The same as rows.
Result<AnswerRows> ask_given_rows(std::string_view question, const GivenArguments& given);

}  // namespace tilecast
