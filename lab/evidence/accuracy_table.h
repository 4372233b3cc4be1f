// What the sections of docs/accuracy.md are made of: groups of errors side by side, as Markdown.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/evaluate/evaluate.h"

namespace tilecast {

std::string percent_text(double share);  // "12.3 %"

// Rows and their forecasts.
struct Judged {
  std::vector<Measurement> rows;
  std::vector<Outcome> outcomes;
};
Judged select(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes,
              const std::function<bool(const Measurement&)>& wanted);

// One column: a figure of every group.
struct FigureColumn {
  std::string title;
  const std::vector<Group>* groups;  // found by their keys
  std::string (*show)(const Group&);
};
namespace figure {
std::string rows(const Group& group);
std::string mean(const Group& group);
std::string median(const Group& group);
std::string p90(const Group& group);
std::string bias(const Group& group);
std::string coverage(const Group& group);
}  // namespace figure

// A line for every group that any column has, in the order of their keys; "-" where a column has none. `label` says
// how a key is written, given its place among the group's keys.
using KeyLabel = std::function<std::string(const std::vector<std::string>& keys, std::size_t place)>;
std::string figure_table(const std::vector<Key>& by, const std::vector<FigureColumn>& columns,
                         const KeyLabel& label = {});

}  // namespace tilecast
