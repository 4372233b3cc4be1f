// Many queries of one question, answered in order: what they look up (cards, models, weights) is looked up once.
#pragma once

#include <span>
#include <vector>

namespace tilecast {

// `answer` takes a query and the look-ups.
template <class Lookups, class Query, class Answer>
auto answer_each(std::span<const Query> queries, const Answer& answer) {
  Lookups known;
  std::vector<decltype(answer(queries.front(), known))> answers;
  answers.reserve(queries.size());
  for (const Query& query : queries) answers.push_back(answer(query, known));
  return answers;
}

}  // namespace tilecast
