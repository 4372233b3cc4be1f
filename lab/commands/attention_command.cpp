#include "lab/commands/attention_command.h"

#include "estimate/shipped_weights.h"
#include "lab/commands/shared.h"
#include "lab/evidence/attention_report.h"

namespace tilecast {

Result<std::string> run_attention(const AttentionCommand& command) {
  std::vector<std::string> tables;
  if (!command.data.empty()) {
    auto found = tables_of({command.data}, {"aiconfigurator"});
    if (!found) return std::move(found).error();
    tables = *std::move(found);
    std::erase_if(tables, [](const std::string& path) { return path.find("attention") == std::string::npos; });
  }
  constexpr int kTrees = 200;
  const auto training = train_options({"attention_prefill", "attention_backward"}, kTrees, kThreads);
  const auto parts =
      judge_attention(command.measurements, shipped_weights(), tables, training, kThreads, terminal_progress());
  if (!parts) return parts.error();
  const std::string report = attention_report(*parts);
  return page_or_text(report, "attention", command.out);
}

}  // namespace tilecast
