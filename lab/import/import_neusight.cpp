// NeuSight's tables: fp32 PyTorch kernels, with the grid, CTA and tile that a profiler saw.
//
// TF32 is off: fp32 is IEEE fp32. In linear and bmm, N is the REDUCTION dimension and K the
// output columns; tile1 runs along K, tile2 along M.
#include <array>

#include "kernel/conv2d.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/layernorm.h"
#include "kernel/softmax.h"
#include "lab/import/import_table.h"

namespace tilecast {
namespace neusight {
namespace {

constexpr std::array<std::string_view, 2> kFiles = {"neusight/kernels_train/*.csv.gz",
                                                    "neusight/kernels_test/*.csv.gz"};
constexpr std::array<std::string_view, 1> kNotRead = {"_*"};  // predictions of its own
constexpr std::array<std::string_view, 2> kToldBy = {"latency_ms", "device"};
constexpr std::array<SourceColumn, 6> kColumns = {{{"device", "the card, as PyTorch calls it", ColumnRole::gpu},
                                                   {"op", "PyTorch's operator"},
                                                   {"split", "train or test, as NeuSight's experiment has it"},
                                                   {"latency_ms", "of one call, an eager launch included"},
                                                   {"tile1", "of the kernel's tile, along the columns"},
                                                   {"tile2", "... along the rows"}}};
constexpr SourceMapping kMapping{
    .name = "neusight",
    .from = "github.com/sitar-lab/NeuSight",
    .licence = "MIT",
    .files = kFiles,
    .not_read = kNotRead,
    .columns = kColumns,
    .protocol = {
        "mean of the five fastest of 25 event timings of an eager call on reused buffers, so warm, and with an "
        "eager launch inside every figure",
        Runtime::eager}};

struct VectorOp {
  std::string_view name;
  PointwiseOp op;
  Count inputs;
};
// "addu" is add with a scalar; divu multiplies by the reciprocal (its kernel's name says so).
constexpr std::array<VectorOp, 11> kVectorOps = {{{"add", PointwiseOp::add, 2},
                                                  {"addu", PointwiseOp::add, 1},
                                                  {"mul", PointwiseOp::mul, 2},
                                                  {"mulu", PointwiseOp::mul, 1},
                                                  {"div", PointwiseOp::div, 2},
                                                  {"divu", PointwiseOp::mul, 1},
                                                  {"pow", PointwiseOp::pow, 2},
                                                  {"powu", PointwiseOp::square, 1},
                                                  {"relu", PointwiseOp::relu, 1},
                                                  {"gelu", PointwiseOp::gelu, 1},
                                                  {"tanh", PointwiseOp::tanh, 1}}};

// The function's own name in a demangled signature: without "void", namespaces, template arguments and parameters.
std::string_view kernel_name(std::string_view signature) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (const auto at = signature.find(kAnonymous); at != std::string_view::npos && at < signature.find('<'))
    signature.remove_prefix(at + kAnonymous.size());
  if (signature.starts_with("void ")) signature.remove_prefix(5);
  signature = signature.substr(0, signature.find_first_of("<("));
  if (const auto colons = signature.rfind("::"); colons != std::string_view::npos) signature.remove_prefix(colons + 2);
  return signature;
}

// Columns every table of NeuSight's has.
struct Common {
  explicit Common(Cells& c)
      : device(c.column("device")),
        op(c.column("op")),
        split(c.column("split")),
        torch(c.column("torch")),
        latency(c.column("latency_ms")),
        tile1(c.column("tile1")),
        tile2(c.column("tile2")),
        grid{c.column("grid_x"), c.column("grid_y"), c.column("grid_z")},
        block{c.column("block_x"), c.column("block_y"), c.column("block_z")},
        kernel(c.column("kernel")),
        kernels(c.column("n_kernels")) {}
  Column device, op, split, torch, latency, tile1, tile2;
  std::array<Column, 3> grid, block;
  Column kernel, kernels;

  void fill(Cells& c, Measurement& row, Names& names) const {
    if (const Gpu* gpu = c.gpu(device)) row.gpu = names.intern(gpu->name);
    row.source = c.text(split) == "test" ? "neusight-test" : "neusight-train";
    row.engine = "pytorch";
    std::string_view version = c.text(torch);
    if (version.starts_with('p')) version.remove_prefix(1);
    row.engine_version = names.intern(version);
    row.kernel_source = names.intern(kernel_name(c.text(kernel)));
    row.kernel.format = c.format("fp32");
    row.context = c.context(row.engine, row.kernel_source);
    row.latency = milliseconds(c.number(latency));
    Observed seen;
    seen.ctas = product(c, grid);
    seen.threads = static_cast<int>(product(c, block));
    seen.tile_n = static_cast<int>(c.count_or(tile1, 0));
    seen.tile_m = static_cast<int>(c.count_or(tile2, 0));
    seen.kernels = static_cast<int>(c.count_or(kernels, 0));
    row.observed = seen;
  }

  static Count product(Cells& c, const std::array<Column, 3>& sides) {
    return c.count_or(sides[0], 0) * c.count_or(sides[1], 0) * c.count_or(sides[2], 0);
  }
};

FillRow product_table(Cells& cells, Names& names) {
  return [common = Common(cells), &names, b = cells.column("B"), m = cells.column("M"), n = cells.column("N"),
          k = cells.column("K")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    if (c.text(common.op) == "bmm") {
      Bmm shape;
      shape.batch = c.count(b);
      shape.m = c.count(m);
      shape.n = c.count(k);
      shape.k = c.count(n);
      return keep(row, shape);
    }
    return keep(row, Gemm{c.count(m) * std::max<Count>(1, c.count(b)), c.count(k), c.count(n)});
  };
}

FillRow vector_table(Cells& cells, Names& names) {
  return [common = Common(cells), &names, b = cells.column("B"), h = cells.column("H")](
             Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    const std::string_view op = c.text(common.op);
    const Count rows = c.count(b), cols = c.count(h);
    // tile1 is the elements of a CTA here, not a tile of a product.
    row.observed.cta_elements = row.observed.tile_n;
    row.observed.tile_m = row.observed.tile_n = 0;
    row.observed.rows = rows;
    row.observed.cols = cols;
    if (op == "softmax") {
      Softmax shape;
      shape.rows = rows;
      shape.cols = cols;
      return keep(row, shape);
    }
    if (op == "ln") {
      LayerNorm shape;
      shape.rows = rows;
      shape.cols = cols;
      return keep(row, shape);
    }
    for (const VectorOp& known : kVectorOps) {
      if (known.name != op) continue;
      Elementwise shape;
      shape.elements = rows * cols;
      shape.inputs = known.inputs;
      shape.op = known.op;
      return keep(row, shape);
    }
    return "an operator Tilecast has no family for";
  };
}

FillRow convolution_table(Cells& cells, Names& names) {
  return [common = Common(cells), &names, b = cells.column("b"), in = cells.column("input_channel"),
          out = cells.column("output_channel"), kernel = cells.column("kernel_size"), size = cells.column("input_size"),
          stride = cells.column("stride"),
          padding = cells.column("padding")](Cells& c, Measurement& row) -> std::string_view {
    common.fill(c, row, names);
    Conv2d shape;
    shape.batch = c.count(b);
    shape.in_channels = c.count(in);
    shape.out_channels = c.count(out);
    shape.height = shape.width = c.count(size);
    shape.kernel = c.count(kernel);
    shape.stride = c.count(stride);
    shape.padding = c.count(padding);
    return keep(row, shape);
  };
}

FillRow open(const CsvReader& csv, Cells& cells, Names& names) {
  if (csv.find_column("input_channel")) return convolution_table(cells, names);
  return csv.find_column("H") ? vector_table(cells, names) : product_table(cells, names);
}

}  // namespace
}  // namespace neusight

constexpr KernelTables kNeusightKernels{&neusight::kMapping, neusight::kToldBy, neusight::open, true};

}  // namespace tilecast
