// AITER's tuned products and fused experts on AMD's cards: the fastest of tens to hundreds of candidates for each
// shape.
#include <fmt/format.h>

#include <array>

#include "lab/import/import_table.h"

namespace tilecast {
namespace {

constexpr std::array<std::string_view, 2> kFiles = {"aiter/gemm.csv.gz", "aiter/moe.csv.gz"};
constexpr std::array<std::string_view, 2> kToldBy = {"cu_num", "latency_us"};
// The source knows architecture and compute units alone: 304 of them have MI300X and MI325X, which differ in memory.
constexpr std::array<NameRule, 1> kGpus = {{{"MI300X-class (gfx942, 304 CU)", "MI300X"}}};
// Activations arrive quantised and the kernel alone is timed, hence fp8_static; scales (3 % more bytes) are not
// charged.
constexpr std::array<NameRule, 2> kFormats = {
    {{"fp8_e4m3", "fp8_static"}, {"int8", "", "activations arrive quantised, and int8 here quantises them"}}};
constexpr std::array<SourceColumn, 6> kColumns = {
    {{"gpu", "the card, by architecture and compute units", ColumnRole::gpu},
     {"kind", "which of the library's products"},
     {"dtype_w", "type of weights and activations", ColumnRole::format},
     {"latency_us", "of the kernel, or of both stages of the experts"},
     {"err", "share of wrong elements"},
     {"library", "whose kernel won"}}};
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

// Kernels whose results are wrong are no evidence of speed. Blank: not stated. "14.4%" or 0.144.
bool errs(std::string_view text, double most) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  return to_double(text).value_or(0) > (percent ? most * 100 : most);
}

struct Common {
  explicit Common(Cells& c)
      : gpu(c.column("gpu")), kind(c.column("kind")), dtype(c.column("dtype_w")), latency(c.column("latency_us")) {}
  Column gpu, kind, dtype, latency;

  void fill(Cells& c, Measurement& row, Names& names, std::string_view library) const {
    if (const Gpu* found = c.gpu(gpu)) row.gpu = names.intern(found->name);
    row.source = row.engine = "aiter";
    row.engine_version = {};
    row.kernel_source = names.intern(fmt::format("{}_{}", library, c.text(kind)));
    row.kernel.format = c.format(c.text(dtype));
    row.context = c.context(row.engine, row.kernel_source);
    row.latency = microseconds(c.number(latency));
  }
};

FillRow gemm_table(Cells& cells, Names& names) {
  return [common = Common(cells), &names, batch = cells.column("batch"), m = cells.column("m"), n = cells.column("n"),
          k = cells.column("k"), error = cells.column("err"),
          library = cells.column("library")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names, c.text(library));
    if (errs(c.text(error), 0.05)) return "more than 5 % of the result is wrong";
    if (const Count products = c.count(batch); products > 1) {
      Bmm shape;
      shape.batch = products;
      shape.m = c.count(m);
      shape.n = c.count(n);
      shape.k = c.count(k);
      shape.layout = Layout::tn;
      return keep(row, shape);
    }
    Gemm shape;
    shape.m = c.count(m);
    shape.n = c.count(n);
    shape.k = c.count(k);
    return keep(row, shape);
  };
}

// Both stages together. Routing and sorting before them are not in the time, nor is the sum after them; tokens are
// spread nearly evenly.
FillRow moe_table(Cells& cells, Names& names) {
  return [common = Common(cells), &names, tokens = cells.column("tokens"), hidden = cells.column("hidden_size"),
          inter = cells.column("inter_size"), experts = cells.column("num_experts"), topk = cells.column("topk"),
          gated = cells.column("gated"), first = cells.column("err1"), second = cells.column("err2"),
          one_stage = cells.column("one_stage")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names, c.text(one_stage) == "1" ? "one_stage" : "two_stages");
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
  if (csv.find_column("kernel_family")) return every_row_left_out("a gated delta rule of AMD's");
  return csv.find_column("num_experts") ? moe_table(cells, names) : gemm_table(cells, names);
}

}  // namespace

constexpr KernelSource kAiterKernels{&kMapping, kToldBy, open};

}  // namespace tilecast
