#include "cli/commands/collective_command.h"

#include "answers/ask_each.h"
#include "answers/documents.h"
#include "answers/ranges.h"
#include "cli/views/collective_view.h"

namespace tilecast {
namespace {

// Each query for every value of a list that may hold ranges.
Status ask_each_number(std::vector<CollectiveQuery>& queries, const char* name, const std::vector<std::string>& list) {
  CollectiveQuery any;
  for (const BoundArgument& argument : arguments_of(any)) {
    if (argument.about.name != name) continue;
    const auto values = spelled_out(argument.about, list);
    if (!values) return values.error();
    return ask_each(queries, name, *values);
  }
  return Ok{};
}

}  // namespace

Result<std::string> run_collective(const CollectiveOptions& options) {
  std::vector<CollectiveQuery> queries = {options.query};
  if (auto asked = ask_each(queries, "cluster", options.clusters); !asked) return std::move(asked).error();
  if (auto asked = ask_each_number(queries, "bytes", options.sizes); !asked) return std::move(asked).error();
  if (auto asked = ask_each_number(queries, "tokens", options.tokens); !asked) return std::move(asked).error();
  std::vector<CollectiveAnswer> answers;
  for (auto& answer : forecast(queries)) {
    if (!answer) return std::move(answer).error();
    answers.push_back(*std::move(answer));
  }
  return options.json ? collective_json(answers) : collective_table(answers);
}

Result<std::string> run_clusters(const CollectiveOptions& options) {
  return options.json ? clusters_json(known_clusters()) : clusters_table(known_clusters(), known_fabrics());
}

}  // namespace tilecast
