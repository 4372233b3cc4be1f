#include "lab/commands/evaluate_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/json.h"
#include "support/json_value.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string share(double v) { return fmt::format("{:.1f} %", v * 100); }

std::vector<Table::Column> key_columns(const std::vector<Key>& by) {
  std::vector<Table::Column> columns;
  for (const Key key : by) columns.push_back({std::string(name_of(key)), Align::left});
  return columns;
}

std::string seen_word(const Group& group) { return group.all_seen() ? "yes" : group.none_seen() ? "no" : "mixed"; }

Json group_json(const Group& group, const std::vector<Key>& by, const std::string& method) {
  Json json = Json::object();
  for (std::size_t i = 0; i < by.size(); ++i) json[std::string(name_of(by[i]))] = group.keys[i];
  json["method"] = method;
  json["rows"] = group.rows;
  json["mean"] = group.mean;
  json["median"] = group.median;
  json["p90"] = group.p90;
  json["bias"] = group.bias;
  json["coverage"] = group.coverage;
  json["below_bound"] = group.below_share();
  json["bound_violations"] = group.violation_share();
  if (group.all_seen() || group.none_seen()) json["seen"] = group.all_seen();
  else json["seen"] = "mixed";
  return json;
}

std::string one_method(const std::vector<Group>& groups, const std::vector<Key>& by) {
  std::vector<Table::Column> columns = key_columns(by);
  for (const char* title : {"rows", "mean", "median", "p90", "bias", "in interval", "faster than bound"})
    columns.push_back({title});
  columns.push_back({"GPU seen", Align::left});
  Table table(std::move(columns));
  for (const Group& group : groups) {
    std::vector<std::string> cells = group.keys;
    for (std::string cell :
         {std::to_string(group.rows), share(group.mean), share(group.median), share(group.p90), share(group.bias),
          share(group.coverage), fmt::format("{:.2f} %", group.violation_share() * 100), seen_word(group)})
      cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace

std::string errors_text(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& methods,
                        const std::vector<Key>& by) {
  // Outcomes of a row share its regime, so that every method has the same groups.
  std::vector<std::vector<Group>> groups;
  for (const MethodOutcomes& method : methods) groups.push_back(group_errors(rows, method.outcomes, by));
  if (methods.size() == 1) return one_method(groups.front(), by);
  std::vector<Table::Column> columns = key_columns(by);
  columns.push_back({"rows"});
  for (const MethodOutcomes& method : methods) columns.push_back({method.name});
  columns.push_back({"GPU seen", Align::left});
  Table table(std::move(columns));
  for (std::size_t g = 0; g < groups.front().size(); ++g) {
    std::vector<std::string> cells = groups.front()[g].keys;
    Count rows_judged = 0;
    for (const auto& own : groups) rows_judged = std::max(rows_judged, own[g].rows);
    cells.push_back(std::to_string(rows_judged));
    for (const auto& own : groups) cells.push_back(own[g].rows > 0 ? share(own[g].mean) : "-");
    cells.push_back(seen_word(groups.front()[g]));
    table.add(std::move(cells));
  }
  return table.text() + "\nmean errors\n";
}

std::string errors_json(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& methods,
                        const std::vector<Key>& by) {
  Json list = Json::array();
  for (const MethodOutcomes& method : methods)
    for (const Group& group : group_errors(rows, method.outcomes, by))
      if (group.rows > 0) list.push_back(group_json(group, by, method.name));
  return json_text(list);
}

std::string speedups_text(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& methods) {
  Table table({{"method", Align::left},
               {"from", Align::left},
               {"to", Align::left},
               {"family", Align::left},
               {"shapes"},
               {"mean"},
               {"median"},
               {"faster named right"},
               {"where over 10 % apart"}});
  for (const MethodOutcomes& method : methods) {
    Count above = 0;  // a single family is not repeated as "all"
    for (const SpeedupErrors& e : speedup_errors(speedup_pairs(rows, method.outcomes))) {
      if (e.family != "all" || e.pairs != above)
        table.add({method.name, e.from, e.to, e.family, std::to_string(e.pairs), share(e.mean), share(e.median),
                   share(e.named_right), e.clear > 0 ? share(e.clear_named_right) : "-"});
      above = e.pairs;
    }
  }
  return table.text() + "\nerror of the predicted speed-up, |predicted / measured - 1|\n";
}

std::string speedups_json(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& methods) {
  Json list = Json::array();
  for (const MethodOutcomes& method : methods)
    for (const SpeedupErrors& e : speedup_errors(speedup_pairs(rows, method.outcomes)))
      list.push_back({{"method", method.name},
                      {"from", e.from},
                      {"to", e.to},
                      {"family", e.family},
                      {"pairs", e.pairs},
                      {"mean", e.mean},
                      {"median", e.median},
                      {"named_right", e.named_right},
                      {"clear_pairs", e.clear},
                      {"clear_named_right", e.clear > 0 ? Json(e.clear_named_right) : Json()}});
  return json_text(list);
}

}  // namespace tilecast
