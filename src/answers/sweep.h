// Questions asked over several values of a number: {"batch": [1, 8, 16]}, {"batch": "1,8..64"} and the flag --batch
// 1,8..64 ask once for every value, and once for every combination where several numbers are swept.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "answers/ranges.h"
#include "answers/rows.h"
#include "tilecast/arguments.h"

namespace tilecast {

// Whether a member of a query looks like a list or a range, of whatever.
bool may_sweep(const nlohmann::json& query);

// Answers one query.
using AskOne = std::function<Result<std::string>(nlohmann::json)>;

struct SweepAxis {
  std::string name;            // of the argument, as it was given
  std::vector<double> values;  // two or more
  std::string unit;            // "tokens"; empty where it has none
};

class QuerySweep {  // NOLINT(bugprone-exception-escape): of nlohmann's move, which says noexcept itself
 public:
  // Takes ranges out of a query. `lists` names arguments whose question has a way of its own to answer lists of them:
  // their ranges are spelled out, and are no axes.
  static Result<QuerySweep> from(nlohmann::json query, const std::vector<Argument>& arguments,
                            const std::vector<std::string>& lists = {});

  // The query as it is.
  static QuerySweep none(nlohmann::json query);

  const std::vector<SweepAxis>& axes() const { return axes_; }
  // Combinations; 1 where nothing is swept. The last axis changes fastest.
  std::size_t size() const { return size_; }
  // One combination as a query of its own.
  nlohmann::json query(std::size_t combination) const;
  // The values of its axes, with underscores in their names: {"kv_len": 128}.
  nlohmann::ordered_json arguments(std::size_t combination) const;

  using Answers = std::vector<Result<std::string>>;
  // The answers of all combinations, in their order; an error where none has one. `progress` hears of the share that is
  // done, from any thread.
  Result<Answers> ask_all(const AskOne& ask, int threads, const std::function<void(double)>& progress = {}) const;
  // Every object of every answer in one list, with what was swept for it as "arguments".
  std::string document(const Answers& answers) const;
  AnswerRows rows(std::string_view question, const Answers& answers) const;

 private:
  double value(std::size_t combination, std::size_t axis) const;

  nlohmann::json query_;
  std::vector<SweepAxis> axes_;
  std::size_t size_ = 1;
};

// A number as JSON: whole ones without a point.
nlohmann::ordered_json plain_number(double value);

}  // namespace tilecast
