// Flags of measured tables: reading, training, judging.
#include "lab/commands/flags.h"

#include <CLI/CLI.hpp>

#include "lab/import/import.h"

namespace tilecast {

namespace {

const std::string kSourcesHelp =
    "which tables of a folder, comma separated (default: aiconfigurator,neusight,synperf), of ";

void add_evaluate_command(CLI::App& app, EvaluateCommand& options, Command& chosen) {
  CLI::App* evaluate = app.add_subcommand("evaluate", "compare forecasts with measured rows");
  evaluate
      ->add_option("--data", options.data,
                   "tables of our form or of a known source, or a folder with aiconfigurator/, neusight/, synperf/")
      ->required();
  evaluate->add_option("--sources", options.sources, kSourcesHelp + source_names())->delimiter(',');
  evaluate
      ->add_option("--method", options.method,
                   "tilecast, analytic (nothing learned), roofline, neusight, synperf, or all side by side")
      ->capture_default_str();
  evaluate
      ->add_option("--weights", options.weights,
                   "judge these, one file per method, comma separated: on held-out shapes of GPUs they have seen, on "
                   "all rows of "
                   "others")
      ->delimiter(',');
  evaluate
      ->add_option("--unseen", options.unseen,
                   "with --weights: GPUs they must not have seen, comma separated; refused if they have")
      ->delimiter(',');
  evaluate->add_option("--leave-one-out", options.leave_one_out,
                       "gpu, architecture or source (the column: who measured): train without it, judge on it");
  evaluate->add_option("--families", options.families, "only these, comma separated")->delimiter(',');
  evaluate->add_option("--trees", options.trees, "with --leave-one-out: trees of each forest")->capture_default_str();
  evaluate
      ->add_option("--epochs", options.epochs,
                   "with --leave-one-out: passes of neusight and synperf over the rows; 0 is the paper's")
      ->capture_default_str();
  evaluate->add_option("--most-rows", options.most_rows, "with --leave-one-out: rows per network; 0 takes all")
      ->capture_default_str();
  evaluate
      ->add_option("--by", options.by,
                   "groups: gpu, architecture, family, dtype, engine, kernel_source, source, regime, trap")
      ->capture_default_str();
  evaluate->add_flag("--pairs", options.pairs, "judge predicted speed-ups between GPUs at the same shapes");
  evaluate->add_option("--predictions", options.predictions, "also write every judged row (.csv or .csv.gz)");
  evaluate->add_option("--sample", options.sample, "rows of each table, GPU, engine and dtype; 0 takes all")
      ->capture_default_str();
  evaluate->add_flag("--json", options.json, "machine-readable output (docs/json.md)");
  evaluate->footer(
      "Example:\n  tilecast-lab evaluate --data data/measurements/h200_sweep.csv.gz --by family,dtype\n\nMore "
      "examples:\n"
      "  tilecast-lab evaluate --data gemm.csv.gz --leave-one-out gpu --method all --by family,gpu --sample 500\n"
      "  tilecast-lab evaluate --data gemm.csv.gz --leave-one-out architecture --by architecture --json\n"
      "  tilecast-lab evaluate --data gemm.csv.gz --weights my.weights --unseen B200,L40S --by gpu,regime\n"
      "  tilecast-lab evaluate --data gemm.csv.gz --weights my.weights,neusight.weights --method all --by dtype\n"
      "  tilecast-lab evaluate --data gemm.csv.gz --weights my.weights --pairs\n"
      "  tilecast-lab evaluate --data gemm.csv.gz --method roofline --predictions rows.csv.gz");
  evaluate->callback([&] { chosen = [&options] { return run_evaluate(options); }; });
}

}  // namespace

void add_data_commands(CLI::App& app, DataOptions& options, Command& chosen) {
  CLI::App* reader =
      app.add_subcommand("import", "convert other people's measured tables into one table in our own form");
  reader->add_option("--from", options.import_.from, "the source: one of " + source_names())->required();
  reader->add_option("FILES", options.import_.files, "its tables, plain or gzip")->required();
  reader->add_option("-o,--out", options.import_.out, "the table to write (.csv or .csv.gz)")->required();
  reader->add_option("--most-bad", options.import_.most_bad, "bad rows to skip before giving up")
      ->capture_default_str();
  reader->footer("Example:\n  tilecast-lab import --from aiconfigurator gemm.csv.gz -o gemm-rows.csv.gz");
  reader->callback([&] { chosen = [&options] { return run_import(options.import_); }; });

  CLI::App* train = app.add_subcommand("train", "learn from measured rows what the analytic forecast misses");
  train
      ->add_option("--data", options.train.data,
                   "tables of our form or of a known source, or a folder with aiconfigurator/, neusight/, synperf/")
      ->required();
  train->add_option("--sources", options.train.sources, kSourcesHelp + source_names())->delimiter(',');
  train->add_option("--families", options.train.families, "kernel families, comma separated (default: all)")
      ->delimiter(',');
  train->add_option("--leave-out", options.train.leave_out, "GPUs whose rows are not used, comma separated")
      ->delimiter(',');
  train->add_option("-o,--out", options.train.out, "the weight file to write")->required();
  train->add_option("--update", options.train.update,
                    "a weight file whose models of other families and formats are kept");
  train->add_option("--refit-unseen", options.train.refit_unseen,
                    "grow no forest: only refit how much of this weight file's models unmeasured cards keep");
  // Maintenance of the shipped file: hidden from the help, which is for those who train.
  train
      ->add_option("--repack", options.train.repack,
                   "train nothing: write this file's models for this program's features, carried over by name")
      ->group("");
  train->add_option("--sample", options.train.sample,
                    "rows of each table, GPU, engine and dtype; 0 takes all (default: 4000 for tilecast, else all)");
  train->add_option("--method", options.train.method, "tilecast, neusight or synperf")->capture_default_str();
  train->add_option("--epochs", options.train.epochs, "neusight, synperf: passes over the rows; 0 is the paper's")
      ->capture_default_str();
  train->add_option("--most-rows", options.train.most_rows, "neusight, synperf: rows per network; 0 takes all")
      ->capture_default_str();
  train->add_option("--trees", options.train.trees, "tilecast: trees of each forest")->capture_default_str();
  train->add_option("--seed", options.train.seed,
                    "the same seed gives the same weights (default: 1, for the papers' methods the papers' own)");
  train->add_option("--threads", options.train.threads, "does not change the result")->capture_default_str();
  train->footer(
      "Example:\n  tilecast-lab train --data data/measurements/h200_sweep.csv.gz --families softmax -o "
      "softmax.weights");
  train->callback([&] { chosen = [&options] { return run_train(options.train); }; });

  add_evaluate_command(app, options.evaluate, chosen);

  CLI::App* accuracy =
      app.add_subcommand("accuracy", "regenerate docs/accuracy.md and its plots from a folder of measured tables");
  accuracy->add_option("--data", options.accuracy.data, "folder with aiconfigurator/, neusight/ and synperf/");
  accuracy->add_option("--measurements", options.accuracy.measurements, "folder of our own measurements")
      ->capture_default_str();
  accuracy->add_option("-o,--out", options.accuracy.out, "the document to write")->required();
  accuracy->add_option("--sample", options.accuracy.sample, "rows of each table, GPU, engine and dtype")
      ->capture_default_str();
  accuracy->add_option("--families", options.accuracy.families, "only these, comma separated")->delimiter(',');
  accuracy->add_option("--trees", options.accuracy.trees, "trees of each forest")->capture_default_str();
  accuracy->add_option("--only", options.accuracy.only,
                       "calibration, blind or whole-models: write that page alone, in minutes");
  accuracy
      ->add_option("--evidence", options.accuracy.evidence,
                   "folder with the blind test's figures and those shown beside them")
      ->capture_default_str();
  accuracy->add_option("--keep", options.accuracy.keep, "folder where `coverage --train` kept what it found")
      ->capture_default_str();
  accuracy->add_flag("--analytic", options.accuracy.analytic, "judge nothing learned: minutes instead of an hour");
  accuracy->footer("Example:\n  tilecast-lab accuracy --data ../shared/data -o docs/accuracy.md");
  accuracy->callback([&] { chosen = [&options] { return run_accuracy(options.accuracy); }; });
}

void add_papers_command(CLI::App& app, PapersCommand& options, Command& chosen) {
  CLI::App* papers = app.add_subcommand("papers", "repeat the experiments of NeuSight and SynPerf (docs/papers.md)");
  papers->add_option("--data", options.data, "folder with neusight/ and synperf/")->required();
  papers->add_option("--only", options.only, "neusight, cards, amd, synperf, conv or moe (default: all)");
  papers
      ->add_option(
          "--methods", options.methods,
          "some of neusight, synperf, tilecast and roofline, comma separated (default: all); the papers' networks "
          "are slow to train")
      ->delimiter(',');
  papers->add_option("--epochs", options.epochs, "passes over the rows; 0 is the papers'")->capture_default_str();
  papers->add_option("--most-rows", options.most_rows, "rows of one network; 0 takes all")->capture_default_str();
  papers->add_option("--threads", options.threads, "does not change the result")->capture_default_str();
  papers->add_option("-o,--out", options.out,
                     "write the tables as a page (docs/accuracy/cards.md) instead of printing them");
  papers->footer("Example:\n  tilecast-lab papers --data ../shared/data --only synperf");
  papers->callback([&] { chosen = [&options] { return run_papers(options); }; });
}

void add_fit_command(CLI::App& app, FitCommand& options, Command& chosen) {
  CLI::App* fit =
      app.add_subcommand("fit", "refit the constants of the physics to measured rows, leaving cards out on request");
  fit->add_option("--data", options.data,
                  "tables of our form or of a known source, or a folder with aiconfigurator/, neusight/, synperf/")
      ->required();
  fit->add_option("--leave-out", options.leave_out,
                  "GPUs or architecture:NAME, comma separated: each in turn is left out of a fit and judged by it")
      ->delimiter(',');
  fit->add_option("--families", options.families, "kernel families, comma separated (default: all)")->delimiter(',');
  fit->add_option("--sample", options.sample, "rows of each table, GPU, engine, family and dtype")
      ->capture_default_str();
  fit->add_option("--passes", options.passes, "passes over all constants")->capture_default_str();
  fit->add_option("--learned", options.learned,
                  "also train without what is left out, on this many rows per table, GPU, engine, family and dtype, "
                  "under each set of constants; 0: do not")
      ->capture_default_str();
  fit->add_option("--trees", options.trees, "trees of each forest of those trainings")->capture_default_str();
  fit->add_option("--state", options.state,
                  "prefix of the files that keep each fit after every pass; an interrupted fit resumes from them");
  fit->add_option("-o,--out", options.out, "also write the tables as a page (docs/accuracy/constants.md)");
  fit->add_option("--threads", options.threads, "does not change the result")->capture_default_str();
  fit->footer(
      "Example:\n  tilecast-lab fit --data ../shared/data --leave-out H100-SXM,architecture:ada --state /tmp/fit");
  fit->callback([&] { chosen = [&options] { return run_fit(options); }; });
}

void add_end_to_end_command(CLI::App& app, EndToEndCommand& options, Command& chosen) {
  CLI::App* sub = app.add_subcommand("endtoend", "compare forecasts of whole models with measured ones");
  sub->add_option("--data", options.data, "folder with e2e/, synperf/ and neusight/; without it only our own rows");
  sub->add_option("--measurements", options.measurements, "folder of our own measurements")->capture_default_str();
  sub->add_option("--only", options.only, "one of " + end_to_end_sources() + " (default: all)");
  sub->add_option("--weights", options.weights, "a weight file (default: the shipped one)");
  sub->add_option("--keep", options.keep, "neusight: folder for the weights trained on NeuSight's rows");
  sub->add_option("--predictions", options.predictions, "also write every row to this CSV file");
  sub->add_option("--half", options.half,
                  "served runs: only those that choices were made on (chosen), or only those that judge them (judged)");
  sub->add_option("--every", options.every, "served runs: judge only every Nth, to save time")->capture_default_str();
  sub->add_flag("--json", options.json, "every row, for programs");
  sub->footer("Example:\n  tilecast-lab endtoend --data ../shared/data --only argonne");
  sub->callback([&] { chosen = [&options] { return run_end_to_end(options); }; });
}

void add_collectives_command(CLI::App& app, CollectivesCommand& options, Command& chosen) {
  CLI::App* judge = app.add_subcommand("collectives", "compare forecasts of collectives with measured ones");
  judge->add_option("--data", options.data, "folder with aiconfigurator/, synperf/ and collectives/")->required();
  judge->add_option("--out", options.out, "also write the page (docs/accuracy/collectives.md)");
  judge->add_option("--fit", options.fit, "also write the fitted constants (data/collectives/constants.txt)");
  judge->footer("Example:\n  tilecast-lab collectives --data ../shared/data");
  judge->callback([&] { chosen = [&options] { return run_collectives(options); }; });
}

void add_coverage_command(CLI::App& app, CoverageCommand& options, Command& chosen) {
  CLI::App* sub =
      app.add_subcommand("coverage", "how often 80 % intervals hold, with each source left out of their widths");
  sub->add_option("--data", options.data, "folder of measured tables")->required();
  sub->add_option("--measurements", options.measurements, "folder of our own measurements")->capture_default_str();
  sub->add_option("--only", options.only, "kernels or runs (default: both)");
  sub->add_option("--sources", options.sources, "runs: only these, comma separated, of " + end_to_end_sources())
      ->delimiter(',');
  sub->add_option("--sample", options.sample, "kernels: rows of each table, GPU, engine, family and dtype")
      ->capture_default_str();
  sub->add_option("--card-sample", options.card_sample, "... for trainings without a card or an architecture")
      ->capture_default_str();
  sub->add_flag("--train", options.train,
                "kernels: leave each source, GPU and architecture out of a training in turn; takes minutes");
  sub->add_option("--trees", options.trees, "with --train: trees of each forest")->capture_default_str();
  sub->add_option("--leave-out", options.leave_out, "kernels: only source, gpu or architecture, comma separated")
      ->delimiter(',');
  sub->add_option("--threads", options.threads, "threads of trainings; no figure depends on it")->capture_default_str();
  sub->add_option("--keep", options.keep,
                  "folder that keeps the results of trainings, so that an interrupted run resumes from them");
  sub->add_option("--figures", options.figures, "also write the figures shown beside the blind test's");
  sub->add_option("--constants", options.constants, "also write the fitted widths into src/constants/intervals.h");
  sub->add_option("-o,--out", options.out, "write the page (docs/accuracy/coverage.md) instead of printing it");
  sub->footer("Example:\n  tilecast-lab coverage --data ../shared/data --only kernels --train --keep build/coverage");
  sub->callback([&] { chosen = [&options] { return run_coverage(options); }; });
}

void add_plan_cards_command(CLI::App& app, PlanCardsCommand& options, Command& chosen) {
  CLI::App* sub =
      app.add_subcommand("plans", "compare plans with the throughputs in TensorRT-LLM's performance overview");
  sub->add_option("--table", options.table, "trtllm_perf_overview.csv.gz")->capture_default_str();
  sub->add_flag("--all", options.all, "every length in the table, not just two that stand for them");
  sub->add_option("-o,--out", options.out, "write the page (docs/accuracy/deployments.md) instead of printing it");
  sub->footer("Example:\n  tilecast-lab plans -o docs/accuracy/deployments.md");
  sub->callback([&] { chosen = [&options] { return run_plan_cards(options); }; });
}

void add_retime_judge_command(CLI::App& app, RetimeJudgeCommand& options, Command& chosen) {
  CLI::App* sub =
      app.add_subcommand("retime", "compare recorded kernels with forecasts from recordings at other sizes");
  sub->add_option("--traces", options.traces, "folder of PROGRAM-SIZES.json.gz")->capture_default_str();
  sub->add_option("--gpu", options.gpu, "the card they were recorded on")->capture_default_str();
  sub->add_option("-o,--out", options.out, "write the page (docs/accuracy/retime.md) instead of printing it");
  sub->footer("Example:\n  tilecast-lab retime -o docs/accuracy/retime.md");
  sub->callback([&] { chosen = [&options] { return run_retime_judge(options); }; });
}

void add_routing_command(CLI::App& app, RoutingCommand& options, Command& chosen) {
  CLI::App* sub =
      app.add_subcommand("routing", "compare laws of spreading tokens over experts by served models' time per token");
  sub->add_option("--data", options.data, "folder with aiconfigurator/ and inferencemax/")->capture_default_str();
  sub->add_option("--laws", options.choice.laws, "comma separated: uniform, power:ALPHA")->delimiter(',');
  sub->add_option("--least", options.choice.least, "fewest requests in flight")->capture_default_str();
  sub->add_option("--most", options.choice.most, "... and most")->capture_default_str();
  sub->add_option("--every", options.choice.every, "judge only every Nth run, to save time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->footer("Example:\n  tilecast-lab routing --every 8");
  sub->callback([&] { chosen = [&options] { return run_routing(options); }; });
}

void add_amd_command(CLI::App& app, AmdCommand& options, Command& chosen) {
  CLI::App* sub =
      app.add_subcommand("amd", "judge AMD's products and experts: with matrices held out and with a card left out");
  sub->add_option("--data", options.data, "folder of measured tables, with aiter/ and aiconfigurator/")->required();
  sub->add_option("--sample", options.sample, "rows of AITER's of each table, GPU, engine, family and dtype")
      ->capture_default_str();
  sub->add_option("--others", options.others, "... of other cards, which are trained on beside them")
      ->capture_default_str();
  sub->add_option("--trees", options.trees, "trees of each training")->capture_default_str();
  sub->add_option("--threads", options.threads, "threads; no result depends on their number")->capture_default_str();
  sub->add_option("-o,--out", options.out, "write the page (docs/accuracy/amd.md) instead of printing it");
  sub->footer("Example:\n  tilecast-lab amd --data ../shared/data -o docs/accuracy/amd.md");
  sub->callback([&] { chosen = [&options] { return run_amd(options); }; });
}

void add_drawn_command(CLI::App& app, DrawnCommand& options, Command& chosen) {
  CLI::App* sub = app.add_subcommand("drawn", "PyTorch's kernels at shapes drawn at random, beside their forecasts");
  sub->add_option("--measurements", options.measurements, "the draw, in our form")->capture_default_str();
  sub->add_option("--weights", options.weights, "a weight file (default: the shipped one)");
  sub->add_option("-o,--out", options.out, "write the page (docs/accuracy/drawn.md) instead of printing it");
  sub->footer("Example:\n  tilecast-lab drawn -o docs/accuracy/drawn.md");
  sub->callback([&] { chosen = [&options] { return run_drawn(options); }; });
}

void add_attention_command(CLI::App& app, AttentionCommand& options, Command& chosen) {
  CLI::App* sub = app.add_subcommand("attention", "an H200's attention by implementation, seen and left out");
  sub->add_option("--measurements", options.measurements, "its rows, in our form")->capture_default_str();
  sub->add_option("--data", options.data, "folder with aiconfigurator/, to train on other cards' rows alone");
  sub->add_option("-o,--out", options.out, "write the page (docs/accuracy/attention.md) instead of printing it");
  sub->footer("Example:\n  tilecast-lab attention --data ../shared/data -o docs/accuracy/attention.md");
  sub->callback([&] { chosen = [&options] { return run_attention(options); }; });
}

void add_power_command(CLI::App& app, PowerCommand& options, Command& chosen) {
  CLI::App* sub = app.add_subcommand("power", "compare forecast times, clocks and watts of loads with measured ones");
  sub->add_option("--measurements", options.measurements,
                  "table of loads, as tools/collect/windows/regimes.py writes it")
      ->capture_default_str();
  sub->add_option("--gpu", options.gpu, "the card that was measured")->capture_default_str();
  sub->add_option("-o,--out", options.out, "write the page (docs/accuracy/power.md) instead of printing it");
  sub->footer("Example:\n  tilecast-lab power -o docs/accuracy/power.md");
  sub->callback([&] { chosen = [&options] { return run_power(options); }; });
}

void add_tune_judge_command(CLI::App& app, TuneJudgeOptions& judge, Command& chosen) {
  CLI::App* check =
      app.add_subcommand("tune-judge", "the tables of docs/tune.md: our picks against measured configurations");
  check->add_option("--measurements", judge.measurements, "folder of our H200 sweeps")->capture_default_str();
  check->add_option("--synperf", judge.synperf, "SynPerf's folder, with fused_moe_triton.csv.gz and moe_configs/");
  check->add_option("--plots", judge.plots, "also draw the plots of docs/walkthrough.md into this folder");
  check->add_option("--fit", judge.fit_steps, "also refit the constants, in this many steps");
  check->add_option("--seed", judge.seed, "... with this random seed")->capture_default_str();
  check->footer("Example:\n  tilecast-lab tune-judge");
  check->callback([&] { chosen = [&judge] { return run_tune_judge(judge); }; });
}

}  // namespace tilecast
