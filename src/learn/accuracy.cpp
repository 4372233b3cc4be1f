#include "learn/accuracy.h"

#include <algorithm>
#include <array>

#include "support/text.h"

namespace tilecast {
namespace {

// The short answers first, then the long tables.
constexpr std::array<Section, 14> kSections = {
    section::definitions, section::targets,      section::plots,
    section::methods,     section::ablation,     section::speedups,
    section::regimes,     section::left_out_gpu, section::left_out_architecture,
    section::seen,        section::analytic,     section::bound,
    section::launches,    section::counters,
};

Status learn(AccuracyInputs& inputs, const AccuracyOptions& options) {
  JudgeOptions judged;
  judged.train = options.train;
  judged.threads = options.threads;
  judged.progress = options.progress;
  const Weights weights = train_all(inputs.rows, options.train, options.progress);
  judged.weights = &weights;
  const auto run = [&](std::vector<Outcome>& into) -> Status {
    auto found = judge(inputs.rows, "tilecast", judged);
    if (!found) return std::move(found).error();
    into = std::move(found->methods.front().outcomes);
    return Ok{};
  };
  if (auto done = run(inputs.seen); !done) return done;
  judged.weights = nullptr;
  judged.leave_out = LeaveOut::gpu;
  if (auto done = run(inputs.without_gpu); !done) return done;
  judged.leave_out = LeaveOut::architecture;
  return run(inputs.without_architecture);
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
  if (!inputs.without_gpu.empty())
    inputs.ablations = {{"full", inputs.without_gpu}, {"without learning", inputs.analytic}};
  return inputs;
}

std::string accuracy_report(const AccuracyInputs& inputs) {
  std::string out;
  for (const Section& section : kSections) out += section(inputs);
  return out;
}

}  // namespace tilecast
