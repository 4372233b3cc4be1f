// AITER's tuned products and fused experts on AMD's cards: the fastest of tens to hundreds of candidates for each
// shape.
//
// Which library's kernel won, its tile and its split are outcomes of the tuning, as unknown beforehand as the time:
// they are not part of what a row asks. Its kernel source is what was tuned ("a8w8_blockscale_bpreshuffle").
#include <algorithm>
#include <array>

#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "lab/import/import_table.h"

namespace tilecast {
namespace aiter {
namespace {

constexpr std::array<std::string_view, 2> kFiles = {"aiter/gemm.csv.gz", "aiter/moe.csv.gz"};
constexpr std::array<std::string_view, 2> kToldBy = {"cu_num", "latency_us"};
// The source knows architecture and compute units alone: 304 of them have MI300X and MI325X, which differ in memory.
constexpr std::array<NameRule, 1> kGpus = {{{"MI300X-class (gfx942, 304 CU)", "MI300X"}}};
// Activations arrive quantised and the kernel alone is timed: the formats that quantise nothing. Block-scaled kinds
// have a name of their own below.
constexpr std::string_view kBlockScaled = "fp8_block_static";
constexpr std::array<NameRule, 2> kFormats = {{{"fp8_e4m3", "fp8_static"}, {"int8", "int8_static"}}};
constexpr std::array<SourceColumn, 7> kColumns = {
    {{"gpu", "the card, by architecture and compute units", ColumnRole::gpu},
     {"kind", "which of the library's products"},
     {"dtype_w", "type of weights and activations", ColumnRole::format},
     {"dtype_out", "type of the result (products)"},
     {"quant", "what shares a scale (experts)"},
     {"latency_us", "of the kernel, or of both stages of the experts"},
     {"err", "share of wrong elements"}}};
constexpr SourceMapping kMapping{
    .name = "aiter",
    .from = "github.com/ROCm/aiter",
    .licence = "MIT",
    .files = kFiles,
    .columns = kColumns,
    .gpus = kGpus,
    .formats = kFormats,
    .protocol = {
        "kernel time under the PyTorch profiler, about 100 calls, outliers cut, mean; arguments rotate through "
        "gigabytes, so that weights and inputs are cold",
        Runtime::graph, Warmth::cold}};

// What a kind or a quantisation of the source means for the scales; others are left out by name.
struct KnownName {
  std::string_view name;
  bool block_scaled;
};
constexpr std::array<KnownName, 7> kProducts = {{{"bf16", false},
                                                 {"a8w8", false},
                                                 {"a8w8_bpreshuffle", false},
                                                 {"a8w8_blockscale", true},
                                                 {"a8w8_blockscale_bpreshuffle", true},
                                                 {"batched_bf16", false},
                                                 {"batched_a8w8", false}}};
constexpr std::array<KnownName, 4> kQuantisations = {
    {{"No", false}, {"per_Token", false}, {"per_Tensor", false}, {"per_1x128", true}}};
constexpr std::array<std::string_view, 2> kExperts = {"fused", "hybrid"};

const KnownName* known(std::span<const KnownName> names, std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const KnownName& one) { return one.name == name; });
  return found == names.end() ? nullptr : &*found;
}

// A kernel with wrong results is no evidence of speed. Blank: not stated. Written as "14.4%" or 0.144.
bool errs(std::string_view text, double most) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  return to_double(text).value_or(0) > (percent ? most * 100 : most);
}

struct Common {
  explicit Common(Cells& c)
      : gpu(c.column("gpu")), kind(c.column("kind")), dtype(c.column("dtype_w")), latency(c.column("latency_us")) {}
  Column gpu, kind, dtype, latency;

  void fill(Cells& c, Measurement& row, Names& names, bool block_scaled) const {
    if (const Gpu* found = c.gpu(gpu)) row.gpu = names.intern(found->name);
    row.source = row.engine = "aiter";
    row.engine_version = {};
    row.kernel_source = names.intern(c.text(kind));
    row.kernel.format = c.format(block_scaled && c.text(dtype) == "fp8_e4m3" ? kBlockScaled : c.text(dtype));
    row.context = c.context(row.engine, row.kernel_source);
    row.latency = microseconds(c.number(latency));
  }
};

FillRow gemm_table(Cells& cells, Names& names) {
  return [common = Common(cells), &names, batch = cells.column("batch"), m = cells.column("m"), n = cells.column("n"),
          k = cells.column("k"), out = cells.column("dtype_out"),
          error = cells.column("err")](Cells& c, Measurement& row) -> std::string_view {
    const KnownName* kind = known(kProducts, c.text(common.kind));
    if (!kind) return c.leave_out(unknown_name("kind of product", c.text(common.kind)).problem), std::string_view();
    common.fill(c, row, names, kind->block_scaled);
    if (errs(c.text(error), 0.05)) return "more than 5 % of the result is wrong";
    if (c.text(out) != "bf16") return "a result that is not bf16";
    if (const Count products = c.count(batch); products > 1) {
      Bmm shape;
      shape.batch = products;
      shape.m = c.count(m);
      shape.n = c.count(n);
      shape.k = c.count(k);
      shape.layout = Layout::tn;
      return keep(row, shape);
    }
    return keep(row, Gemm{c.count(m), c.count(n), c.count(k)});
  };
}

// Both stages together. Routing and sorting before them are not in the time, nor is the sum after them; tokens are
// spread nearly evenly.
FillRow moe_table(Cells& cells, Names& names) {
  return [common = Common(cells), &names, tokens = cells.column("tokens"), hidden = cells.column("hidden_size"),
          inter = cells.column("inter_size"), experts = cells.column("num_experts"), topk = cells.column("topk"),
          gated = cells.column("gated"), quant = cells.column("quant"), first = cells.column("err1"),
          second = cells.column("err2")](Cells& c, Measurement& row) -> std::string_view {
    const KnownName* scales = known(kQuantisations, c.text(quant));
    if (!scales) return c.leave_out(unknown_name("quantisation", c.text(quant)).problem), std::string_view();
    if (std::find(kExperts.begin(), kExperts.end(), c.text(common.kind)) == kExperts.end())
      return c.leave_out(unknown_name("kind of experts", c.text(common.kind)).problem), std::string_view();
    common.fill(c, row, names, scales->block_scaled);
    if (errs(c.text(first), 0.5) || errs(c.text(second), 0.5)) return "more than half of the result is wrong";
    Moe shape;
    shape.tokens = c.count(tokens);
    shape.hidden = c.count(hidden);
    shape.inter = c.count(inter);
    shape.experts = c.count(experts);
    shape.topk = c.count(topk);
    shape.gated = c.text(gated) != "0";
    shape.style = MoeStyle::grouped;
    return keep(row, shape);
  };
}

FillRow open(const CsvReader& csv, Cells& cells, Names& names) {
  if (csv.find_column("stage")) return every_row_left_out("one candidate of a tuning run, good or bad");
  // Of the chunked rule the table has the kernel between chunks alone, and decoding rows do not say which card ran
  // them.
  if (csv.find_column("kernel_family")) return every_row_left_out("a part of a gated delta rule, or a card not stated");
  return csv.find_column("num_experts") ? moe_table(cells, names) : gemm_table(cells, names);
}

}  // namespace
}  // namespace aiter

constexpr KernelTables kAiterKernels{&aiter::kMapping, aiter::kToldBy, aiter::open};

}  // namespace tilecast
