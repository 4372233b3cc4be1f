#include "lab/commands/collectives_command.h"

#include <fmt/format.h>

#include "lab/evidence/accuracy.h"
#include "lab/evidence/collective_report.h"
#include "support/file.h"

namespace tilecast {

Result<std::string> run_collectives(const CollectivesCommand& command) {
  LeftOutRows left_out;
  auto rows = read_collectives(command.data, &left_out);
  if (!rows) return std::move(rows).error();
  auto judged = judge_collectives(*std::move(rows));
  if (!judged) return std::move(judged).error();
  if (auto done = judge_between_nodes(command.data, *judged); !done) return std::move(done).error();
  if (judged->networks)
    for (const auto& [why, count] : judged->networks->data.left_out) left_out[why] += count;
  if (!command.fit.empty())
    if (auto written = write_text_file(command.fit, comm_constants_text(judged->constants)); !written)
      return std::move(written).error();
  std::string text = collective_report(*judged);
  if (!command.out.empty())
    if (auto written = write_text_file(command.out, accuracy_page_head() + text); !written)
      return std::move(written).error();
  if (!left_out.empty()) text += "\n";
  for (const auto& [why, count] : left_out) text += fmt::format("left out: {} rows, {}\n", count, why);
  return text;
}

}  // namespace tilecast
