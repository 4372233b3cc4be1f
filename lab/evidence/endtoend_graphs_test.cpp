// Our operators of NeuSight's models against its traces of them (../shared/data/neusight/e2e_perop).
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>

#include "kernel/gemm.h"
#include "kernel/layernorm.h"
#include "kernel/softmax.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "support/text.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kFolder = TILECAST_SOURCE_DIR "/../shared/data/neusight";

constexpr std::array<SourceColumn, 8> kColumns = {{{"device", "the card", ColumnRole::gpu},
                                                   {"model", "the network"},
                                                   {"mode", "inf or train"},
                                                   {"seqlen", "tokens of a sequence"},
                                                   {"batch", "sequences"},
                                                   {"repeat", "how often the node runs"},
                                                   {"opname", "its kind"},
                                                   {"fw_ops", "its dimensions"}}};
constexpr SourceMapping kTraces{
    .name = "traces", .from = "NeuSight", .licence = "MIT", .files = {}, .columns = kColumns};

using Counts = std::map<std::string, Count>;

// Products, softmax and norms by their sizes, and how often they run: "[['Linear', (4096, 1280, 3840)]]" -> "Linear
// 4096 1280 3840". One product in a row of q, k and v (B = 1) is a linear layer.
Counts traced(const EndToEndLabel& label) {
  Counts counts;
  const auto table = read_table(kTraces, kFolder + "/e2e_perop/all_layers.csv.gz");
  EXPECT_TRUE(table);
  const std::string device = table->rows.front()["device"];
  for (const TableRow& row : table->rows) {
    const std::string& op = row["opname"];
    if (row["device"] != device || row["model"] != label.model || row["mode"] != label.mode ||
        row.count("batch") != label.batch || row.count("seqlen") != label.length)
      continue;
    if (op != "Linear" && op != "BMM" && op != "VECsoftmax" && op != "VECln") continue;
    std::string key = op;
    for (const std::string& part : split(row["fw_ops"].substr(row["fw_ops"].find('(') + 1), ','))
      key += " " + std::to_string(std::stoll(part));
    counts[key] += row.count("repeat");
  }
  return counts;
}

Counts ours(const EndToEndCase& one) {
  Counts counts;
  const auto prepared = prepare(one.runs.front());
  EXPECT_TRUE(prepared);
  for (const KernelCall& call : prepared->program.calls) {
    if (prepared->program.sections[call.section].pass != Pass::forward) continue;
    const Shape& shape = call.kernel.shape;
    std::string key;
    if (const auto* g = shape.get_if<Gemm>()) key = fmt::format("Linear {} {} {}", g->m, g->k, g->n);
    if (const auto* b = shape.get_if<Bmm>()) key = fmt::format("BMM {} {} {} {}", b->batch, b->m, b->k, b->n);
    if (const auto* s = shape.get_if<Softmax>()) key = fmt::format("VECsoftmax {} {}", s->rows, s->cols);
    if (const auto* n = shape.get_if<LayerNorm>()) key = fmt::format("VECln {} {}", n->rows, n->cols);
    if (!key.empty()) counts[key] += call.times;
  }
  return counts;
}

TEST(NeusightGraphs, OurOperatorsAreThoseOfTheTraces) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "needs ../shared/data/neusight";
  const auto cases = neusight_cases(kFolder);
  ASSERT_TRUE(cases) << cases.error().line();
  int compared = 0;
  for (const EndToEndCase& one : cases->cases) {
    if (one.label.gpu != "MI100" || one.label.engine != "pytorch") continue;  // the first device of the table
    const Counts expected = traced(one.label);
    if (expected.empty()) continue;
    EXPECT_EQ(ours(one), expected) << one.label.model << " " << one.label.mode << " " << one.label.batch;
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

}  // namespace
}  // namespace tilecast
