// The laboratory's command line: measured tables, training, fitting and judging.
#include <CLI/CLI.hpp>

#include "lab/commands/flags.h"

int main(int argc, char** argv) {
  using namespace tilecast;
  CLI::App app("The laboratory of Tilecast: trains its weights, fits its constants and judges its forecasts.",
               "tilecast-lab");
  app.require_subcommand(1);
  app.footer("Example:\n  tilecast-lab evaluate --data data/measurements/h200_sweep.csv.gz --by family,dtype");
  app.set_version_flag("--version", "tilecast-lab " TILECAST_VERSION);
  DataOptions data;
  FitCommand fit;
  PapersCommand papers;
  EndToEndCommand end_to_end;
  CollectivesCommand collectives;
  CoverageCommand coverage;
  AmdCommand amd;
  AttentionCommand attention;
  DrawnCommand drawn;
  PowerCommand power;
  RetimeJudgeCommand retime;
  PlanCardsCommand plans;
  RoutingCommand routing;
  TuneJudgeOptions judge;
  Command chosen;
  add_data_commands(app, data, chosen);
  add_fit_command(app, fit, chosen);
  add_papers_command(app, papers, chosen);
  add_end_to_end_command(app, end_to_end, chosen);
  add_collectives_command(app, collectives, chosen);
  add_coverage_command(app, coverage, chosen);
  add_amd_command(app, amd, chosen);
  add_attention_command(app, attention, chosen);
  add_drawn_command(app, drawn, chosen);
  add_power_command(app, power, chosen);
  add_retime_judge_command(app, retime, chosen);
  add_plan_cards_command(app, plans, chosen);
  add_routing_command(app, routing, chosen);
  add_tune_judge_command(app, judge, chosen);
  return run_program(app, chosen, argc, argv);
}
