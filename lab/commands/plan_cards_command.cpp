#include "lab/commands/plan_cards_command.h"

#include "estimate/shipped_weights.h"
#include "lab/commands/shared.h"
#include "lab/evidence/plan_cards.h"

namespace tilecast {

Result<std::string> run_plan_cards(const PlanCardsCommand& command) {
  auto rows = card_rows(command.table, command.all);
  if (!rows) return std::move(rows).error();
  const auto every = card_rows(command.table, true);
  if (!every) return every.error();
  plan_cards(*rows, shipped_models());
  const std::string report = card_report(*rows, *every);
  return page_or_text(report, "plans", command.out);
}

}  // namespace tilecast
