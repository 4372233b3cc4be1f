#include "lab/evidence/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lab/evidence/collective_report.h"
#include "lab/evidence/endtoend_report.h"
#include "measure/traps.h"
#include "support/text.h"

namespace tilecast {
namespace {

struct Page {
  std::string_view name, title, about;
  std::vector<AccuracySection> sections;
};

const std::vector<Page>& detail_pages() {
  static const std::vector<Page> pages = {
      {"whole-models",
       "Whole models and serving",
       "steps, trainings and deployments beside measured ones",
       {section::whole_models}},
      {"coverage",
       "Coverage",
       "what 80 % intervals hold of other people's kernels and runs, each source left out of their widths",
       {section::coverage}},
      {"gpu-left-out",
       "GPU left out",
       "every GPU, family and format, nothing learned from the GPU",
       {section::left_out_gpu}},
      {"architecture-left-out",
       "Architecture left out",
       "... nor from any of its architecture",
       {section::left_out_architecture}},
      {"seen", "Seen", "shapes that the shipped weights were not trained on", {section::seen}},
      {"methods",
       "Methods and parts",
       "other methods on the same rows, what each part brings, speed-ups between GPUs, regimes",
       {section::methods, section::ablation, section::speedups, section::regimes}},
      {"calibration", "Calibration", "what rows of the card itself are worth", {section::calibration}},
      {"analytic",
       "Physics alone",
       "the analytic forecast beside the plain roofline; rows that beat their bound",
       {section::analytic, section::bound}},
      {"plans",
       "Plans",
       "planned launches and demands against profilers' counters",
       {section::launches, section::counters}},
      {"collectives", "Collectives", "between GPUs, within a node and between nodes", {section::collectives}},
      {"blind",
       "A blind test",
       "GPUs, models and runs that nobody here had seen, and visible data beside them",
       {section::blind}},
      {"rows", "Rows", "where measured rows come from, with their licences", {section::sources}},
  };
  return pages;
}

// Pages that other commands make.
constexpr std::string_view kOtherPages =
    "- [Programs](accuracy/programs.md): PyTorch programs recorded without a card, beside their steps on an H200 (a "
    "test of "
    "lab/evidence writes it)\n"
    "- [AMD](accuracy/amd.md): products and experts of AMD's cards, matrices held out and a card left out "
    "(`tilecast-lab "
    "amd`)\n"
    "- [Attention](accuracy/attention.md): of an H200 by implementation, forward and backward, seen and left out "
    "(`tilecast-lab attention`)\n"
    "- [Single kernels of PyTorch](accuracy/drawn.md): on an H200, at shapes drawn at random (`tilecast-lab drawn`)\n"
    "- [Power](accuracy/power.md): times, clocks and watts of an H200 in bursts, windows and under sustained load "
    "(`tilecast-lab power`)\n"
    "- [Recordings](accuracy/retime.md): kernels of an H200 forecast from recordings at other batches and lengths "
    "(`tilecast-lab retime`)\n"
    "- [Deployments](accuracy/deployments.md): plans beside the throughputs of TensorRT-LLM's overview "
    "(`tilecast-lab plans`)\n"
    "- [NeuSight's cards](accuracy/cards.md): its fp32 kernels with each card left out (`tilecast-lab papers --only "
    "cards`)\n"
    "- [Constants](accuracy/constants.md): left-out errors with the constants of the physics refitted (`tilecast-lab "
    "fit`)\n";

std::string refitted_constants(const AccuracyInputs& inputs) {
  if (inputs.refitted.empty()) return "";
  return "## Constants that know the card, and constants that do not\n\nThe tables above leave a card out of what is "
         "learned; the constants of the physics are the shipped ones. Here they are fitted anew too, to a sample that "
         "has rows of the card and to the same without them, and models are trained without the card on top: mean "
         "errors over the cards left out, of small trainings that are to be compared with each other alone "
         "([Constants](accuracy/constants.md)).\n\n" +
         inputs.refitted;
}

Status learn(AccuracyInputs& inputs, const AccuracyOptions& options) {
  JudgeOptions judged;
  judged.train = options.train;
  judged.threads = options.threads;
  judged.progress = options.progress;
  judged.weights = options.weights;
  const auto run = [&](std::vector<Outcome>& into) -> Status {
    auto found = judge(inputs.rows, "tilecast", judged);
    if (!found) return std::move(found).error();
    into = std::move(found->methods.front().outcomes);
    return Ok{};
  };
  if (options.weights)
    if (auto done = run(inputs.seen); !done) return done;
  judged.weights = nullptr;
  judged.leave_out = LeaveOut::gpu;
  if (auto done = run(inputs.without_gpu); !done) return done;
  judged.leave_out = LeaveOut::architecture;
  return run(inputs.without_architecture);
}

// The families that the ablation is about: where learning has several cards to go by.
bool ablated(const Measurement& row) {
  if (row.source != "aiconfigurator" || row.kernel.format.id != FormatId::bf16) return false;
  const std::string_view family = family_of(row.kernel.shape);
  return family == "gemm" || family == "attention_prefill" || family == "attention_decode" || family == "moe";
}

// The same training with a part of the physics taken out.
void ablate(AccuracyInputs& inputs, const AccuracyOptions& options) {
  Sampler sampler({options.ablation_sample, 0});
  for (const Measurement& row : inputs.rows)
    if (ablated(row)) sampler.offer(row);
  inputs.ablation_rows = sampler.take();
  if (inputs.ablation_rows.empty()) return;
  const std::array<std::pair<const char*, Simplified>, 4> kSimpler = {
      {{"full", {}},
       {"without schedule", {.even_schedule = true}},
       {"without L2 awareness", {.no_cache = true}},
       {"without sustained clocks", {.peak_clocks = true}}}};
  for (const auto& [name, simplified] : kSimpler) {
    TrainAllOptions train = options.train;
    train.train.intervals = false;
    train.simplified = simplified;
    inputs.ablations.push_back(
        {name, forecast_leaving_out(inputs.ablation_rows, LeaveOut::gpu, train, options.progress)});
  }
  if (auto analytic = forecast_rows(inputs.ablation_rows, Method::analytic, options.threads))
    inputs.ablations.push_back({"without learning", *std::move(analytic)});
}

}  // namespace

Result<AccuracyInputs> judge_tables(const std::vector<std::string>& paths, const AccuracyOptions& options,
                                    const ReadOptions& read, Names& names) {
  AccuracyInputs inputs;
  auto all = read_sampled(paths, {.rows = 0, .seed = 0}, read, names);
  if (!all) return std::move(all).error();
  if (!options.families.empty())
    std::erase_if(all->rows, [&](const Measurement& row) {
      return std::none_of(options.families.begin(), options.families.end(), [&](const std::string& family) {
        return name_key(family) == name_key(family_of(row.kernel.shape));
      });
    });
  inputs.every_row = std::move(all->rows);
  auto everything = forecast_rows(inputs.every_row, Method::analytic, options.threads);
  if (!everything) return std::move(everything).error();
  inputs.every_outcome = *std::move(everything);

  Sampler sampler(options.sample);
  for (const Measurement& row : inputs.every_row)
    if (trap_of(row).empty()) sampler.offer(row);
  inputs.sample = options.sample.rows;
  inputs.rows = sampler.take();
  for (auto [method, into] :
       {std::pair(Method::analytic, &inputs.analytic), std::pair(Method::roofline, &inputs.roofline)}) {
    auto outcomes = forecast_rows(inputs.rows, method, options.threads);
    if (!outcomes) return std::move(outcomes).error();
    *into = *std::move(outcomes);
  }
  if (options.learn)
    if (auto learned = learn(inputs, options); !learned) return std::move(learned).error();
  if (options.learn) ablate(inputs, options);
  return inputs;
}

std::string section::collectives(const AccuracyInputs& inputs) {
  return inputs.collectives ? collective_report(*inputs.collectives) : "";
}
std::string section::calibration(const AccuracyInputs& inputs) {
  return calibration_report(inputs.calibrations, inputs.card);
}
std::string section::whole_models(const AccuracyInputs& inputs) { return end_to_end_report(inputs.end_to_end); }

std::string section::coverage(const AccuracyInputs& inputs) {
  return coverage_report(inputs.coverage, shipped_widths(), inputs.fitted_widths);
}

std::string section::blind(const AccuracyInputs& inputs) { return blind_report(inputs.blind, inputs.visible); }

std::string accuracy_page_head() {
  return "Generated by `make accuracy`; do not edit. [accuracy.md](../accuracy.md) says what the words mean.\n\n";
}

std::vector<AccuracyPage> accuracy_pages(const AccuracyInputs& inputs) {
  std::vector<AccuracyPage> pages = {{"accuracy.md", section::definitions(inputs) + section::summary(inputs) +
                                                         section::plots(inputs) + refitted_constants(inputs) +
                                                         "## Details\n\n"}};
  for (const Page& page : detail_pages()) {
    std::string text;
    for (const AccuracySection& section : page.sections) text += section(inputs);
    if (text.empty()) continue;
    const std::string file = fmt::format("accuracy/{}.md", page.name);
    pages.front().text += fmt::format("- [{}]({}): {}\n", page.title, file, page.about);
    pages.push_back({file, accuracy_page_head() + text});
  }
  pages.front().text += kOtherPages;
  return pages;
}

}  // namespace tilecast
