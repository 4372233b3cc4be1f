#include "cli/commands/collective_command.h"

#include "answers/ask_each.h"
#include "answers/documents.h"
#include "cli/views/collective_view.h"

namespace tilecast {

Result<std::string> run_collective(const CollectiveOptions& options) {
  std::vector<CollectiveQuery> queries = {options.query};
  if (auto asked = ask_each(queries, "cluster", options.clusters); !asked) return std::move(asked).error();
  if (auto asked = ask_each(queries, "bytes", options.sizes); !asked) return std::move(asked).error();
  if (auto asked = ask_each(queries, "tokens", options.tokens); !asked) return std::move(asked).error();
  std::vector<CollectiveAnswer> answers;
  for (auto& answer : forecast(queries)) {
    if (!answer) return std::move(answer).error();
    answers.push_back(*std::move(answer));
  }
  return options.json ? collective_json(answers) : collective_table(answers);
}

Result<std::string> run_clusters(const CollectiveOptions& options) {
  return options.json ? clusters_json(known_clusters()) : clusters_table(known_clusters());
}

}  // namespace tilecast
