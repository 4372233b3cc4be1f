// The flags of every command of the laboratory. Each function adds commands to the program; a command chosen on the
// command line sets `chosen`.
#pragma once

#include <string>

#include "cli/terminal/program.h"
#include "lab/commands/accuracy_command.h"
#include "lab/commands/amd_command.h"
#include "lab/commands/attention_command.h"
#include "lab/commands/collectives_command.h"
#include "lab/commands/coverage_command.h"
#include "lab/commands/drawn_command.h"
#include "lab/commands/endtoend_command.h"
#include "lab/commands/evaluate_command.h"
#include "lab/commands/fit_command.h"
#include "lab/commands/import_command.h"
#include "lab/commands/papers_command.h"
#include "lab/commands/plan_cards_command.h"
#include "lab/commands/power_command.h"
#include "lab/commands/retime_command.h"
#include "lab/commands/routing_command.h"
#include "lab/commands/train_command.h"
#include "lab/commands/tune_judge_command.h"

namespace tilecast {

struct DataOptions {
  ImportCommand import_;
  TrainCommand train;
  EvaluateCommand evaluate;
  AccuracyCommand accuracy;
};
void add_data_commands(CLI::App& app, DataOptions& options, Command& chosen);
void add_fit_command(CLI::App& app, FitCommand& options, Command& chosen);
void add_papers_command(CLI::App& app, PapersCommand& options, Command& chosen);
void add_end_to_end_command(CLI::App& app, EndToEndCommand& options, Command& chosen);
void add_collectives_command(CLI::App& app, CollectivesCommand& options, Command& chosen);
void add_coverage_command(CLI::App& app, CoverageCommand& options, Command& chosen);
void add_amd_command(CLI::App& app, AmdCommand& options, Command& chosen);
void add_attention_command(CLI::App& app, AttentionCommand& options, Command& chosen);
void add_drawn_command(CLI::App& app, DrawnCommand& options, Command& chosen);
void add_power_command(CLI::App& app, PowerCommand& options, Command& chosen);
void add_plan_cards_command(CLI::App& app, PlanCardsCommand& options, Command& chosen);
void add_retime_judge_command(CLI::App& app, RetimeJudgeCommand& options, Command& chosen);
void add_routing_command(CLI::App& app, RoutingCommand& options, Command& chosen);
void add_tune_judge_command(CLI::App& app, TuneJudgeOptions& options, Command& chosen);

}  // namespace tilecast
