#include "answers/ask.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <thread>

#include "answers/given.h"
#include "answers/questions.h"
#include "answers/sweep.h"
#include "support/json.h"
#include "support/json_value.h"
#include "support/text.h"
#include "support/workers.h"

namespace tilecast {
namespace {

int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// What a query sweeps: a kernel's arguments, and those that are dimensions of its family.
Result<QuerySweep> sweep_of(const QuestionEntry& asked, nlohmann::json query) {
  if (!asked.sweeps || !may_sweep(query)) return QuerySweep::none(std::move(query));
  std::vector<Argument> arguments = asked.arguments();
  if (asked.name == "kernel" && query.contains("family") && query["family"].is_string())
    for (const KernelFamily& family : kernel_families())
      if (name_key(family.name) == name_key(query["family"].get<std::string>()))
        arguments.insert(arguments.end(), family.dims.begin(), family.dims.end());
  // Collectives have long been asked over lists of sizes, and answer them in documents of their own.
  std::vector<std::string> lists;
  if (asked.name == "collective") lists = {"bytes", "tokens"};
  return QuerySweep::from(std::move(query), arguments, lists);
}

// Asks one combination of a sweep, with files or without as `given` wants it.
AskOne asker_of(const QuestionEntry& asked, const GivenArguments& given) {
  return [&asked, &given](nlohmann::json query) -> AnswerDocument {
    if (given.watch().cancel.stop_requested()) return stopped();
    auto one = GivenArguments::from(std::move(query));
    if (!one) return std::move(one).error();
    one->set_watch({.progress = {}, .cancel = given.watch().cancel});
    one->set_files(given.files_wish(), given.drawings());
    return asked.ask(*one);
  };
}

// A sweep is watched as a whole: shares of its combinations, one call at a time.
Result<QuerySweep::Answers> ask_all(const QuerySweep& sweep, const AskOne& ask_one, int threads,
                                    const AskWatch& watch) {
  std::mutex one_at_a_time;
  double heard = 0;
  auto answers = sweep.ask_all(ask_one, threads, [&](double share) {
    const std::lock_guard lock(one_at_a_time);
    if (watch.progress && share > heard) watch.progress(heard = share);
  });
  if (watch.cancel.stop_requested()) return stopped();
  return answers;
}

AnswerDocument answer_of(const QuestionEntry& asked, GivenArguments given, int threads) {
  if (!asked.sweeps || !may_sweep(given.members())) return asked.ask(given);
  const auto sweep = sweep_of(asked, given.members());
  if (!sweep) return sweep.error();
  const AskOne ask_one = asker_of(asked, given);
  if (sweep->axes().empty()) return ask_one(sweep->query(0));
  if (given.files_wish() == FilesWish::chakra)
    return field_error("files", "has traces of one step, not of a range", "ask for one step at a time");
  const auto answers = ask_all(*sweep, ask_one, threads, given.watch());
  return answers ? AnswerDocument(sweep->document(*answers)) : AnswerDocument(answers.error());
}

// A question as it was asked, and what it sweeps.
struct SweptQuestion {
  const QuestionEntry& asked;
  GivenArguments given;
  QuerySweep sweep;
};
Result<SweptQuestion> swept_question(std::string_view question, std::string_view query) {
  const auto found = question_named(question);
  if (!found) return found.error();
  auto given = GivenArguments::from(query);
  if (!given) return std::move(given).error();
  auto sweep = sweep_of(**found, given->members());
  if (!sweep) return std::move(sweep).error();
  return SweptQuestion{**found, *std::move(given), *std::move(sweep)};
}

std::string outcome_text(const AnswerDocument& answer) {
  if (answer) return "{\"answer\": " + *answer + "}";
  const Error& e = answer.error();
  const Json error{{"place", e.place}, {"field", e.field}, {"problem", e.problem}, {"remedy", e.remedy}};
  return Json{{"error", error}}.dump();
}

}  // namespace

AnswerDocument ask_given(std::string_view question, GivenArguments given) {
  const auto found = question_named(question);
  // One thread: whoever serves others has threads of its own.
  return found ? answer_of(**found, std::move(given), 1) : AnswerDocument(found.error());
}

Result<AnswerRows> ask_given_rows(std::string_view question, const GivenArguments& given) {
  const auto found = question_named(question);
  if (!found) return found.error();
  const auto sweep = sweep_of(**found, given.members());
  if (!sweep) return sweep.error();
  if (sweep->axes().empty()) {  // watched step by step, not as one of many
    auto answer = answer_of(**found, given, 1);
    if (!answer) return std::move(answer).error();
    return sweep->rows((*found)->name, {std::move(answer)});
  }
  const auto answers = ask_all(*sweep, asker_of(**found, given), 1, given.watch());
  if (!answers) return answers.error();
  return sweep->rows((*found)->name, *answers);
}

AnswerDocument ask(std::string_view question, std::string_view query) {
  const auto found = question_named(question);
  if (!found) return found.error();
  auto given = GivenArguments::from(query);
  return given ? answer_of(**found, *std::move(given), cores()) : AnswerDocument(std::move(given).error());
}

Result<AnswerRows> ask_rows(std::string_view question, std::string_view query,
                            const std::function<void(double)>& progress) {
  const auto swept = swept_question(question, query);
  if (!swept) return swept.error();
  const auto answers = swept->sweep.ask_all(asker_of(swept->asked, swept->given), cores(), progress);
  if (!answers) return answers.error();
  return swept->sweep.rows(swept->asked.name, *answers);
}

Result<bool> is_swept(std::string_view question, std::string_view query) {
  const auto swept = swept_question(question, query);
  if (!swept) return swept.error();
  return !swept->sweep.axes().empty();
}

AnswerDocument ask_many(std::string_view question, std::string_view queries, int threads) {
  const auto found = question_named(question);
  if (!found) return found.error();
  auto list = parse_json(queries, "queries");
  if (!list) return std::move(list).error();
  if (!list->is_array()) return Error{"queries", "", "must be a JSON list", "a list of queries"};
  std::vector<std::string> answers(list->size());
  Workers workers(
      std::min(threads > 0 ? threads : cores(), static_cast<int>(std::max<std::size_t>(1, answers.size()))));
  workers.each(answers.size(), [&](std::size_t i) {
    auto given = GivenArguments::from(std::move((*list)[i]));
    answers[i] =
        outcome_text(given ? answer_of(**found, *std::move(given), 1) : AnswerDocument(std::move(given).error()));
  });
  return "[" + join(answers, ",\n") + "]\n";
}

Result<KernelQuery> kernel_query(std::string_view text) {
  auto given = GivenArguments::from(text);
  if (!given) return std::move(given).error();
  return read_kernel(*given);
}

Result<StepQuery> step_query(std::string_view text) {
  auto given = GivenArguments::from(text);
  if (!given) return std::move(given).error();
  StepQuery query;
  if (auto fine = read_query(*given, query); !fine) return fine.error();
  return query;
}

}  // namespace tilecast
