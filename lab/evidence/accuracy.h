// docs/accuracy.md and docs/accuracy/: pages of sections, each a function from the same judged rows to Markdown.
//
// Nothing is forecast here. judge_tables() makes the inputs from measured tables; whoever has further outcomes of the
// same rows (an ablation, another method) adds them.
#pragma once

#include <string>
#include <vector>

#include "lab/evaluate/judge.h"
#include "lab/evidence/blind.h"
#include "lab/evidence/calibration_study.h"
#include "lab/evidence/counters.h"
#include "lab/evidence/coverage.h"
#include "lab/evidence/endtoend_result.h"
#include "lab/fit/collective_fit.h"

namespace tilecast {

// Rows measured faster than their bound, at most this share for every GPU, family and dtype.
inline constexpr double kMostViolations = 0.005;

struct PlotLink {
  std::string path, title;  // relative to the document
};

struct AccuracyInputs {
  // Every row of the tables, traps of the data included, and its analytic forecast.
  std::vector<Measurement> every_row;
  std::vector<Outcome> every_outcome;

  // A sample without traps, and forecasts of it in the same order.
  Count sample = 0;  // rows of each table, GPU, engine, family and dtype
  std::vector<Measurement> rows;
  std::vector<Outcome> analytic, roofline;
  // The learned method; empty vectors: not judged. `seen` is by weights trained on the rows, and counts at the shapes
  // that training holds out.
  std::vector<Outcome> seen, without_gpu, without_architecture;
  // What each part is worth, GPU left out: the full method first; over fewer rows than the rest.
  std::vector<Measurement> ablation_rows;
  std::vector<MethodOutcomes> ablations;
  std::vector<MethodOutcomes> others;  // other methods of the same rows, GPU left out

  std::vector<EndToEndResult> end_to_end;  // whole models
  CoverageRows coverage;                   // of their intervals, and of kernels of further sources
  Widths fitted_widths;                    // to all of those
  std::vector<BlindLine> blind;            // a blind test's figures as they were given
  VisibleFigures visible;                  // ... and the figures shown beside them
  std::vector<StudyLine> calibrations;
  CardStudy card;

  std::vector<CounterComparison> counters;
  std::optional<CollectiveJudgement> collectives;
  std::vector<PlotLink> plots;
  std::string refitted;  // a table of errors with the constants of the physics refitted (lab/fit); empty: none was made
};

struct AccuracyOptions {
  SampleOptions sample;
  std::vector<std::string> families;  // empty: all
  TrainAllOptions train;
  bool learn = true;                 // false: the analytic part alone
  const Weights* weights = nullptr;  // whose `seen` errors are shown
  Count ablation_sample = 300;       // rows per stratum; four more trainings that leave each GPU out
  int threads = 1;
  Progress progress;
};
// From files in any known form. `names` must live as long as the inputs.
Result<AccuracyInputs> judge_tables(const std::vector<std::string>& paths, const AccuracyOptions& options,
                                    const ReadOptions& read, Names& names);

// docs/accuracy.md, the page that links the others, and the pages of docs/accuracy/.
struct AccuracyPage {
  std::string file;  // beside the first: "accuracy.md", "accuracy/seen.md"
  std::string text;
};
std::vector<AccuracyPage> accuracy_pages(const AccuracyInputs& inputs);
std::string accuracy_page_head();  // what each of those in the folder begins with

// The sections, in the document's order. One that has nothing to show is empty.
using AccuracySection = std::string (*)(const AccuracyInputs& inputs);
namespace section {
std::string definitions(const AccuracyInputs& inputs);
std::string sources(const AccuracyInputs& inputs);  // of rows, with their licences
std::string summary(const AccuracyInputs& inputs);  // averages over AIConfigurator's NVIDIA cards
std::string seen(const AccuracyInputs& inputs);     // held-out shapes
std::string left_out_gpu(const AccuracyInputs& inputs);
std::string left_out_architecture(const AccuracyInputs& inputs);
std::string methods(const AccuracyInputs& inputs);  // all methods on the same rows
std::string ablation(const AccuracyInputs& inputs);
std::string speedups(const AccuracyInputs& inputs);
std::string regimes(const AccuracyInputs& inputs);
std::string plots(const AccuracyInputs& inputs);
std::string calibration(const AccuracyInputs& inputs);  // what rows of the card itself are worth
std::string analytic(const AccuracyInputs& inputs);     // beside the roofline
std::string bound(const AccuracyInputs& inputs);        // rows that beat it, traps apart, reasons
std::string launches(const AccuracyInputs& inputs);     // planned against measured
std::string counters(const AccuracyInputs& inputs);
std::string collectives(const AccuracyInputs& inputs);
std::string coverage(const AccuracyInputs& inputs);      // of intervals, sources left out
std::string blind(const AccuracyInputs& inputs);         // a blind test, beside visible data
std::string whole_models(const AccuracyInputs& inputs);  // steps of models, beside measured ones
}  // namespace section

}  // namespace tilecast
