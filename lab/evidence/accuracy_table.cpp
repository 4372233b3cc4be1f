#include "lab/evidence/accuracy_table.h"

#include <fmt/format.h>

#include <map>

#include "support/table.h"

namespace tilecast {

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

Judged select(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes,
              const std::function<bool(const Measurement&)>& wanted) {
  Judged chosen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!wanted(rows[i])) continue;
    chosen.rows.push_back(rows[i]);
    chosen.outcomes.push_back(outcomes[i]);
  }
  return chosen;
}

namespace figure {
std::string rows(const Group& group) { return std::to_string(group.rows); }
std::string mean(const Group& group) { return percent_text(group.mean); }
std::string median(const Group& group) { return percent_text(group.median); }
std::string p90(const Group& group) { return percent_text(group.p90); }
std::string bias(const Group& group) { return percent_text(group.bias); }
std::string coverage(const Group& group) { return percent_text(group.coverage); }
}  // namespace figure

std::string figure_table(const std::vector<Key>& by, const std::vector<FigureColumn>& columns, const KeyLabel& label) {
  std::vector<std::string> words, numbers;
  for (const Key key : by) words.emplace_back(key == Key::gpu ? "GPU" : name_of(key));
  for (const FigureColumn& column : columns) numbers.push_back(column.title);
  std::map<std::vector<std::string>, std::vector<std::string>> lines;
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (const Group& group : *columns[c].groups) {
      if (group.rows == 0) continue;
      auto [line, fresh] = lines.try_emplace(group.keys, columns.size(), "-");
      line->second[c] = columns[c].show(group);
    }
  Table table(std::move(words), std::move(numbers));
  for (const auto& [keys, figures] : lines) {
    std::vector<std::string> cells;
    for (std::size_t k = 0; k < keys.size(); ++k) cells.push_back(label ? label(keys, k) : keys[k]);
    cells.insert(cells.end(), figures.begin(), figures.end());
    table.add(std::move(cells));
  }
  return table.markdown();
}

}  // namespace tilecast
