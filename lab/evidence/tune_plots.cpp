#include "lab/evidence/tune_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "gpu/registry.h"
#include "support/csv.h"
#include "support/scale.h"
#include "support/svg.h"

namespace tilecast {
namespace {

std::string time_text(double us) {
  return us < 1000 ? fmt::format("{:.3g} µs", us) : fmt::format("{:.3g} ms", us / 1000);
}

// A square of a path, `size` wide, about a point.
std::string square(double x, double y, double size) {
  return fmt::format("M{0:.1f},{1:.1f}h{2}v{2}h-{2}z", x - size / 2, y - size / 2, size);
}

struct Key {
  std::string_view colour, words;
};
void draw_key(Svg& svg, double x, double y, const std::vector<Key>& keys) {
  for (const Key& key : keys) {
    svg.rect(x, y - 8, 9, 9, key.colour);
    svg.text(x + 14, y, key.words);
    x += 34 + 6.2 * static_cast<double>(key.words.size());
  }
}

// --- configurations

constexpr double kSide = 330, kLeft = 70, kTop = 96, kBetweenPanels = 80;
constexpr double kWidest = 4;  // slower ones are omitted: no search would look at them twice
constexpr std::array<Key, 3> kMarks = {{{colour::kOrange, "SGLang's default"},
                                        {colour::kInk, "vLLM's default"},
                                        {colour::kGreen, "our pick, nothing measured"}}};

Status draw_configurations(Svg& svg, double left, const TunedShape& shape, const Gpu& gpu) {
  std::vector<TritonConfig> configs;
  double best = HUGE_VAL;
  for (const auto& [config, us] : shape.us) configs.push_back(config), best = std::min(best, us);
  const Format bf16 = *format_from("bf16");
  const auto ranked = rank_fused_moe(shape.moe, bf16, gpu, configs);
  if (!ranked) return ranked.error();
  const LogScale scale{best * 0.9, best * kWidest};
  const auto at_x = [&](double us) { return left + kSide * scale.at(us); };
  const auto at_y = [&](double us) { return kTop + kSide * (1 - scale.at(us)); };
  svg.text(left, kTop - 10, fmt::format("{} tokens, {} configurations", shape.moe.tokens, configs.size()),
           {.size = 12, .bold = true});
  for (const double times : {1.0, 1.5, 2.0, 3.0, 4.0}) {
    const double us = best * times;
    svg.line(left, at_y(us), left + kSide, at_y(us), colour::kRule);
    svg.line(at_x(us), kTop, at_x(us), kTop + kSide, colour::kRule);
    svg.text(left - 6, at_y(us) + 4, time_text(us), {.anchor = Anchor::end});
    svg.text(at_x(us), kTop + kSide + 16, time_text(us), {.anchor = Anchor::middle});
  }
  svg.line(at_x(scale.low), at_y(scale.low), at_x(scale.high), at_y(scale.high), colour::kGrey, 1, "4 3");
  const std::array<TritonConfig, 3> marked = {sglang_default(shape.moe, bf16, DType::bf16),
                                              vllm_default(shape.moe, bf16, DType::bf16), ranked->front().config};
  std::string dots;
  for (const RankedConfig& one : *ranked) {
    const double us = shape.us.at(one.config), forecast = in_microseconds(one.forecast);
    if (us > scale.high || forecast > scale.high) continue;
    dots += square(at_x(forecast), at_y(us), 2.5);
  }
  svg.path(dots, colour::kBlue);
  for (std::size_t i = 0; i < marked.size(); ++i)
    for (const RankedConfig& one : *ranked)
      if (one.config == marked[i])
        svg.path(square(at_x(in_microseconds(one.forecast)), at_y(shape.us.at(one.config)), 9), kMarks[i].colour);
  svg.text(left + kSide / 2, kTop + kSide + 36, "forecast", {.anchor = Anchor::middle});
  return Ok{};
}

}  // namespace

Result<std::string> configuration_plot(const std::vector<const TunedShape*>& shapes, const Gpu& gpu) {
  const double panels = static_cast<double>(shapes.size());
  Svg svg(kLeft + panels * kSide + (panels - 1) * kBetweenPanels + 30, kTop + kSide + 48,
          "Measured time of every configuration over its forecast");
  draw_key(svg, kLeft, 50, {kMarks.begin(), kMarks.end()});
  double left = kLeft;
  for (const TunedShape* shape : shapes) {
    if (const Status fine = draw_configurations(svg, left, *shape, gpu); !fine) return fine.error();
    left += kSide + kBetweenPanels;
  }
  svg.text(16, kTop + kSide / 2, "measured", {.anchor = Anchor::middle, .turned = -90});
  return svg.file();
}

Result<std::string> gain_plot(const std::vector<TunedShape>& shapes, const Gpu& gpu) {
  constexpr double kGroup = 98, kStep = 9.5, kHigh = 260, kGainLeft = 52, kGainTop = 70;
  std::set<Count> tokens;
  for (const TunedShape& shape : shapes) tokens.insert(shape.tokens());
  const double wide = kGroup * static_cast<double>(tokens.size());
  const LogScale scale{0.97, 2.3};
  const auto at_y = [&](double times) { return kGainTop + kHigh * (1 - std::clamp(scale.at(times), 0.0, 1.0)); };
  Svg svg(kGainLeft + wide + 24, kGainTop + kHigh + 50, "Time over the best of an exhaustive search, by tokens");
  draw_key(svg, kGainLeft, 50, {kMarks.begin(), kMarks.end()});
  for (const double times : {1.0, 1.1, 1.25, 1.5, 2.0}) {
    svg.line(kGainLeft, at_y(times), kGainLeft + wide, at_y(times), times == 1 ? colour::kInk : colour::kRule);
    svg.text(kGainLeft - 6, at_y(times) + 4, fmt::format("{:g}x", times), {.anchor = Anchor::end});
  }
  double left = kGainLeft;
  for (const Count count : tokens) {
    double x = left + 10;
    for (const TunedShape& shape : shapes) {
      if (shape.tokens() != count) continue;
      const auto outcome = judge_shape(shape, gpu);
      if (!outcome) return outcome.error();
      const std::array<double, 3> times = {outcome->sglang, outcome->vllm, outcome->first};
      for (std::size_t i = 0; i < times.size(); ++i) svg.path(square(x, at_y(times[i]), 6), kMarks[i].colour);
      x += kStep;
    }
    svg.text(left + kGroup / 2, kGainTop + kHigh + 18, fmt::format("{}", count), {.anchor = Anchor::middle});
    left += kGroup;
  }
  svg.text(kGainLeft + wide / 2, kGainTop + kHigh + 38, "tokens; eight layers of Mixtral, Qwen3 and DeepSeek-V3 each",
           {.anchor = Anchor::middle});
  return svg.file();
}

Result<std::vector<StepTime>> read_steps(const std::string& path) {
  auto csv = CsvReader::open(path);
  if (!csv) return csv.error();
  std::array<std::size_t, 6> at{};
  constexpr std::array<std::string_view, 6> kColumns = {"variant", "step", "runtime", "ms", "lowest_ms", "highest_ms"};
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto column = csv->column(kColumns[i]);
    if (!column) return column.error();
    at[i] = *column;
  }
  std::vector<StepTime> steps;
  for (;;) {
    const auto more = csv->next();
    if (!more) return more.error();
    if (!*more) return steps;
    if (!csv->problem().empty()) return Error{csv->place(), "", csv->problem(), "fix the line, or remove it"};
    std::array<double, 3> ms{};
    for (std::size_t i = 0; i < ms.size(); ++i) {
      const auto number = to_double((*csv)[at[3 + i]]);
      if (!number || !(*number > 0))
        return Error{csv->place(), std::string(kColumns[3 + i]), "must be a time",
                     "in microseconds, as tools/tune/measure.py writes it"};
      ms[i] = *number;
    }
    const auto text = [&](std::size_t i) { return std::string((*csv)[at[i]]); };
    steps.push_back({text(0), text(1), text(2), ms[0], ms[1], ms[2]});
  }
}

namespace {

// As they are to stand below each other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kVariants = {
    {{"sglang_default", "SGLang's default"},
     {"vllm_default", "vLLM's default"},
     {"tuned", "tuned, nothing measured"},
     {"tuned_cudnn", "... and cuDNN's attention"},
     {"measured", "tuned with --measure"},
     {"measured_cudnn", "... and cuDNN's attention"}}};

std::size_t place_of(const StepTime& step) {
  return static_cast<std::size_t>(
      std::find_if(kVariants.begin(), kVariants.end(), [&](const auto& known) { return known.first == step.variant; }) -
      kVariants.begin());
}
std::string words_of(const StepTime& step) {
  const std::size_t place = place_of(step);
  return place < kVariants.size() ? std::string(kVariants[place].second) : step.variant;
}

}  // namespace

std::string step_plot(std::vector<StepTime> steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepTime& a, const StepTime& b) { return place_of(a) < place_of(b); });
  constexpr double kRow = 24, kBarsLeft = 200, kWide = 430, kHead = 30;
  struct Block {
    std::string_view step, runtime, title;
  };
  constexpr std::array<Block, 2> kBlocks = {{{"prefill", "eager", "prefill, 8192 tokens, plain launches"},
                                             {"decode", "graph", "decode, 64 sequences, CUDA graph"}}};
  double rows = 0;
  const auto within = [](const StepTime& s, const Block& b) { return s.step == b.step && s.runtime == b.runtime; };
  for (const Block& block : kBlocks)
    for (const StepTime& step : steps) rows += within(step, block);
  Svg svg(kBarsLeft + kWide + 90, 44 + kBlocks.size() * kHead + rows * kRow + 10, "Time of a step");
  double y = 44;
  for (const Block& block : kBlocks) {
    double longest = 0;
    for (const StepTime& step : steps)
      if (within(step, block)) longest = std::max(longest, step.highest);
    svg.text(kBarsLeft, y + 18, block.title, {.size = 12, .bold = true});
    y += kHead;
    for (const StepTime& step : steps) {
      if (!within(step, block)) continue;
      const auto at = [&](double ms) { return kBarsLeft + kWide * ms / longest; };
      svg.text(kBarsLeft - 8, y + 14, words_of(step), {.anchor = Anchor::end});
      svg.rect(kBarsLeft, y + 3, at(step.ms) - kBarsLeft, kRow - 8,
               step.variant.ends_with("_default") ? colour::kOrange : colour::kGreen);
      svg.line(at(step.lowest), y + 11, at(step.highest), y + 11, colour::kInk);
      svg.text(at(step.highest) + 6, y + 14, fmt::format("{:.2f} ms", step.ms));
      y += kRow;
    }
  }
  return svg.file();
}

Result<std::vector<NamedPlot>> tune_plots(const std::string& measurements) {
  // The layer of the walk-through; the tuner's constants were not fitted to it.
  constexpr std::string_view kLayer = "qwen3-235b-a22b-tp2";
  const auto gpu = find_gpu("H200-SXM");
  if (!gpu) return gpu.error();
  const auto shapes =
      read_moe_sweep(measurements + "/h200_fused_moe.csv.gz", measurements + "/h200_fused_moe_again.csv.gz");
  if (!shapes) return shapes.error();
  std::vector<const TunedShape*> shown;
  for (const Count tokens : {Count{8192}, Count{64}})
    for (const TunedShape& shape : *shapes)
      if (shape.layer == kLayer && shape.tokens() == tokens) shown.push_back(&shape);
  if (shown.empty())
    return error("the sweep has no shape of " + std::string(kLayer),
                 "h200_fused_moe.csv.gz of data/measurements has it");
  const auto configurations = configuration_plot(shown, *gpu);
  if (!configurations) return configurations.error();
  const auto gains = gain_plot(*shapes, *gpu);
  if (!gains) return gains.error();
  const auto steps = read_steps(measurements + "/walkthrough/h200_moe_steps.csv");
  if (!steps) return steps.error();
  return std::vector<NamedPlot>{
      {"tune_configurations.svg", *configurations}, {"tune_gains.svg", *gains}, {"tune_steps.svg", step_plot(*steps)}};
}

}  // namespace tilecast
