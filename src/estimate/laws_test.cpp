// Laws of the forecast that users get: price() with the shipped weights, and on a calibrated card.
//
// Some hold without exception. Two do not, since trees and choices between kernels jump: more work should not be
// faster, a better GPU not slower. Where they are broken by more than kTolerance is listed in law_exceptions.txt, with
// the worst case of each kind; a new or larger exception fails here, and so does one that is gone, so that the list
// stays true. docs/method.md sums it up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "estimate/law_testing.h"
#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "estimate/weights.h"
#include "kernel/attention_decode.h"
#include "support/file.h"
#include "support/test_share.h"
#include "support/text.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kListed = TILECAST_SOURCE_DIR "/src/estimate/law_exceptions.txt";
const std::string kMethod = TILECAST_SOURCE_DIR "/docs/method.md";
constexpr double kTolerance = 1.05;  // about what forecasts of seen cards err by
// By which a listed size may differ: another compiler's rounding can change what a tree answers.
constexpr double kSlack = 0.02;

// A made-up calibration: a slow DRAM, fast arithmetic, and for each of a few families an offset and two points.
std::shared_ptr<const Calibration> made_calibration() {
  Calibration c;
  c.factors[static_cast<std::size_t>(CardTerm::dram)] = 0.2f;
  c.factors[static_cast<std::size_t>(CardTerm::math)] = -0.1f;
  c.factors[static_cast<std::size_t>(CardTerm::floor)] = 0.3f;
  for (const char* key : {"gemm/bf16", "attention_decode/bf16", "moe/fp8", "softmax/fp32", "sampling/bf16"}) {
    FamilyCalibration& family = c.families[key];
    family.offset = -0.15f;
    family.factors[static_cast<std::size_t>(CardTerm::l2)] = 0.1f;
    family.reach = 4;
    family.spread = 0.7f;
    CalibrationPlace small{}, large{};
    small.fill(0.5f), large.fill(1.5f);
    family.points = {{small, "/|graph|model", 0.2f}, {large, "/|graph|model", -0.2f}};
  }
  return std::make_shared<const Calibration>(c);
}

struct Card {
  std::string name;
  Gpu gpu;
};
std::vector<Card> cards() {
  std::vector<Card> all;
  for (const std::string_view name : kGpus) all.push_back({std::string(name), *find_gpu(name)});
  for (const std::string_view name : {"H100-SXM", "L40S"}) {
    all.push_back({std::string(name) + " calibrated", *find_gpu(name)});
    all.back().gpu.calibration = made_calibration();
  }
  return all;
}

// Beside shapes around the examples: one key head for many query heads, whose batches are where splits set in.
std::vector<Shape> tried_shapes(const Family& family) {
  std::vector<Shape> shapes = shapes_of(family);
  if (family.info.name == "attention_decode")
    for (const Count kv_len : {1024, 2048, 4096})
      for (const Count batch : {1, 2, 4}) {
        AttentionDecode shape;
        shape.batch = batch, shape.kv_len = kv_len, shape.heads = 32, shape.kv_heads = 1;
        shapes.push_back(shape);
      }
  return shapes;
}

struct Case {
  const Family& family;
  Kernel kernel;
  const Card& card;
  Context context;
  Estimate estimate;

  std::string text() const {
    return fmt::format("{} {} {}", dims_text(kernel.shape), kernel.format.name, name_of(context.warmth));
  }
};

// The weights that ship, or those of a file that is to: TILECAST_LAWS_WEIGHTS=FILE.
const ModelSource& judged_models() {
  static const std::unique_ptr<Weights> other = []() -> std::unique_ptr<Weights> {
    const char* path = std::getenv("TILECAST_LAWS_WEIGHTS");
    if (!path) return nullptr;
    auto loaded = load_weights(path);
    if (!loaded) throw std::runtime_error(loaded.error().line());
    return std::make_unique<Weights>(*std::move(loaded));
  }();
  return other ? *other : shipped_models();
}

std::optional<Estimate> forecast(const Kernel& kernel, const Gpu& gpu, const Context& context) {
  auto priced = price(kernel, gpu, context, Method::tilecast, &judged_models());
  return priced ? std::optional(std::move(priced->estimate)) : std::nullopt;
}

constexpr std::size_t kStep = one_of(8);

// Forecast once for all laws.
const std::vector<Case>& every_case() {
  static const std::vector<Card> all = cards();
  static const std::vector<Case> found = [] {
    std::vector<Case> cases;
    std::size_t tried = 0;
    for (const Family& family : families())
      for (const Shape& shape : tried_shapes(family))
        for (const Card& card : all)
          for (const std::string_view type : kTypes)
            for (const Warmth warmth : {Warmth::model, Warmth::warm, Warmth::cold}) {
              if (tried++ % kStep != 0) continue;
              Context context;
              context.warmth = warmth;
              if (warmth == Warmth::warm) context.weight_copies = 3;
              const Kernel kernel{shape, *format_from(type)};
              if (auto e = forecast(kernel, card.gpu, context))
                cases.push_back({family, kernel, card, context, *std::move(e)});
            }
    return cases;
  }();
  return found;
}

TEST(Laws, ForecastsAreFiniteOrderedAndNeverBelowTheBound) {
  for (const Case& c : every_case()) {
    SCOPED_TRACE(std::string(c.family.info.name) + " " + c.card.name + " " + c.text());
    const Estimate& e = c.estimate;
    EXPECT_TRUE(std::isfinite(e.latency.base()) && std::isfinite(e.interval.high.base()));
    EXPECT_GT(e.latency, seconds(0));
    EXPECT_LE(e.bound, e.interval.low);
    EXPECT_LE(e.interval.low, e.latency);
    EXPECT_LE(e.latency, e.interval.high);
    EXPECT_LE(e.bound, e.ceiling);
    EXPECT_LE(e.ceiling, e.latency);
    EXPECT_NEAR(e.efficiency, e.bound / e.latency, 1e-12);
    EXPECT_EQ(e.method, Method::tilecast);
  }
  EXPECT_GT(every_case().size() * kStep, 15000u);
}

TEST(Laws, LaunchesSumToTheWhole) {
  for (const Case& c : every_case()) {
    SCOPED_TRACE(std::string(c.family.info.name) + " " + c.card.name + " " + c.text());
    Seconds latency, bound;
    for (const LaunchEstimate& launch : c.estimate.launches) {
      EXPECT_GE(launch.latency.base(), launch.bound.base() * (1 - 1e-12));
      latency += launch.latency, bound += launch.bound;
    }
    EXPECT_NEAR(latency.base(), c.estimate.latency.base(), 1e-9 * c.estimate.latency.base());
    EXPECT_NEAR(bound.base(), c.estimate.bound.base(), 1e-9 * c.estimate.bound.base());
  }
}

// Exceptions of one kind: a law, a family, a card, and what was raised.
struct Kind {
  std::string law, family, card, raised;
  auto operator<=>(const Kind&) const = default;
  std::string text() const { return fmt::format("{} | {} | {} | {}", law, family, card, raised); }
};
struct Worst {
  double factor = 1;
  std::string where;
};
using Exceptions = std::map<Kind, Worst>;

void note(Exceptions& all, const Case& c, std::string law, std::string raised, double factor) {
  if (factor <= kTolerance - kSlack) return;
  Worst& worst = all[{std::move(law), std::string(c.family.info.name), c.card.name, std::move(raised)}];
  if (factor > worst.factor) worst = {factor, c.text()};
}

// As a description file makes one: like the card, with one thing changed.
Gpu improved(const Gpu& gpu, const Faster& faster) {
  Gpu better = gpu;
  better.name = gpu.name + " improved";
  better.parent = std::make_shared<const Gpu>(gpu);
  faster.change(better);
  return better;
}

// Of every kind the worst case, those within kSlack of the tolerance too.
const Exceptions& found() {
  static const Exceptions all = [] {
    Exceptions exceptions;
    for (const Case& c : every_case()) {
      for (const Faster& faster : kFaster) {
        const Gpu better = improved(c.card.gpu, faster);
        if (const auto e = forecast(c.kernel, better, c.context))
          note(exceptions, c, "better GPU", faster.what, e->latency / c.estimate.latency);
      }
      for (const auto& [name, value] : dims_of(c.kernel.shape)) {
        if (!is_count(c.family, name) || divides_work(name)) continue;
        const auto more = doubled(c.kernel.shape, name);
        if (!more) continue;
        if (const auto e = forecast(Kernel{*more, c.kernel.format}, c.card.gpu, c.context))
          note(exceptions, c, "more work", name, c.estimate.latency / e->latency);
      }
    }
    return exceptions;
  }();
  return all;
}

std::string as_text(const Exceptions& exceptions) {
  std::string text =
      "# law | family | card | doubled (or one SM more) | times slower than before (better GPU) or after (more work) | "
      "worst case\n";
  for (const auto& [kind, worst] : exceptions)
    if (worst.factor > kTolerance) text += fmt::format("{} | {:.2f} | {}\n", kind.text(), worst.factor, worst.where);
  return text;
}

Result<Exceptions> listed() {
  const auto text = read_text_file(kListed, 1 << 20);
  if (!text) return text.error();
  Exceptions exceptions;
  for (const std::string& line : split(*text, '\n')) {
    if (line.empty() || line.starts_with("#")) continue;
    std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 6) return Error{kListed, line, "must have six cells", ""};
    for (std::string& cell : cells) {
      cell.erase(cell.find_last_not_of(' ') + 1);
      cell.erase(0, cell.find_first_not_of(' '));
    }
    exceptions[{cells[0], cells[1], cells[2], cells[3]}] = {std::stod(cells[4]), cells[5]};
  }
  return exceptions;
}

// Where the list is out of date the new one is written beside the tests, to be looked at and taken over.
TEST(Laws, WorkAndGpusBreakThemOnlyWhereListed) {
  const auto list = listed();
  ASSERT_TRUE(list) << list.error().line();
  for (const auto& [kind, worst] : found()) {
    const auto known = list->find(kind);
    if (known == list->end())
      EXPECT_LE(worst.factor, kTolerance + kSlack) << "new: " << kind.text() << " | " << worst.where;
    else EXPECT_LE(worst.factor, known->second.factor + kSlack) << "larger: " << kind.text() << " | " << worst.where;
  }
  for (const auto& [kind, known] : *list) {
    if (kStep > 1) break;  // not all of them were tried
    const auto now = found().find(kind);
    const double factor = now == found().end() ? 1 : now->second.factor;
    EXPECT_GE(factor, known.factor - kSlack) << "better than listed, take it over: " << kind.text();
  }
  if (HasFailure()) {
    const std::string path = testing::TempDir() + "law_exceptions.txt";
    std::ofstream(path) << as_text(found());
    ADD_FAILURE() << "the list as it would be: " << path;
  }
}

// The same models, had nobody measured one card.
Weights without(const Weights& weights, const Gpu& card) {
  Weights blind = weights;
  for (FamilyModel& model : blind.models) {
    model.seen.erase(card.name), model.cards.erase(card.name);
    const bool siblings = std::any_of(model.seen.begin(), model.seen.end(), [&](const auto& seen) {
      const Gpu* other = built_in_gpu(seen.first);
      return other && architecture_key(*other) == architecture_key(card);
    });
    if (!siblings) model.siblings.erase(architecture_key(card));
  }
  return blind;
}

TEST(Laws, ACardThatWasNotSeenIsNeverSurer) {
  Count compared = 0, surer = 0;
  for (const std::string_view name : {"A100-SXM-80GB", "L40S", "H100-SXM", "B200", "V100-SXM"}) {
    const Weights blind = without(shipped_weights(), *find_gpu(name));
    for (const std::string_view engine : {"", "vllm", "pytorch"})
      for (const Case& c : every_case()) {
        if (c.card.name != name) continue;
        const FamilyModel* model = shipped_weights().find(c.kernel, c.card.gpu);
        if (!model || !model->seen.contains(c.card.name)) continue;
        Context context = c.context;
        context.engine = Launcher::named(engine);
        const auto seen = price(c.kernel, c.card.gpu, context, Method::tilecast, &shipped_weights());
        const auto unseen = price(c.kernel, c.card.gpu, context, Method::tilecast, &blind);
        ASSERT_TRUE(seen && unseen);
        SCOPED_TRACE(fmt::format("{} {} {} {}", c.family.info.name, name, engine, c.text()));
        const Width of_seen = width_of(seen->estimate.interval, seen->estimate.latency);
        const Width of_unseen = width_of(unseen->estimate.interval, unseen->estimate.latency);
        constexpr double kRounding = 1e-6;
        EXPECT_GE(of_unseen.up, of_seen.up - kRounding);
        const bool at_bound = unseen->estimate.interval.low <= unseen->estimate.assumed_bound * (1 + kRounding);
        EXPECT_TRUE(at_bound || of_unseen.down >= of_seen.down - kRounding) << of_unseen.down << " " << of_seen.down;
        ++compared, surer += of_seen.down + of_seen.up < 0.9 * (of_unseen.down + of_unseen.up);
      }
  }
  EXPECT_GT(compared * static_cast<Count>(kStep), 2000);
  EXPECT_GT(surer, compared / 2) << "and what was seen is surer as a rule";
}

// How many kinds a family has, and its worst, for each law.
std::string summary(const Exceptions& exceptions) {
  std::map<std::string, std::map<std::string, std::pair<int, std::pair<double, Kind>>>> by_family;
  for (const auto& [kind, worst] : exceptions) {
    auto& [count, largest] = by_family[kind.family][kind.law];
    ++count;
    if (worst.factor > largest.first) largest = {worst.factor, kind};
  }
  std::string text =
      "| family | more work is faster | worst | a better GPU is slower | worst |\n|---|---|---|---|---|\n";
  for (auto& [family, laws] : by_family) {
    text += "| " + family;
    for (const char* law : {"more work", "better GPU"}) {
      const auto& [count, largest] = laws[law];
      const auto& [factor, kind] = largest;
      text += count == 0 ? " | - | -" : fmt::format(" | {} | {:.2f} ({}, {})", count, factor, kind.raised, kind.card);
    }
    text += " |\n";
  }
  return text;
}

TEST(Laws, TheDocumentSumsUpTheList) {
  const auto list = listed();
  const auto document = read_text_file(kMethod, 1 << 22);
  ASSERT_TRUE(list && document);
  EXPECT_NE(document->find("## Where the laws do not hold"), std::string::npos);
  EXPECT_NE(document->find(summary(*list)), std::string::npos) << "the table should be:\n" << summary(*list);
}

}  // namespace
}  // namespace tilecast
