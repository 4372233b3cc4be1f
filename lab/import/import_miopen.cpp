// MIOpen's find step: the best solver of each convolution on an MI300X, all three directions.
#include <array>

#include "kernel/conv2d.h"
#include "lab/import/import_table.h"
#include "support/text.h"

namespace tilecast {
namespace miopen {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"miopen/conv.csv.gz"};
constexpr std::array<std::string_view, 2> kToldBy = {"solver", "in_channels"};
constexpr std::array<NameRule, 1> kGpus = {{{"MI300X (gfx942, 304 CU)", "MI300X"}}};
constexpr std::array<SourceColumn, 6> kColumns = {
    {{"gpu", "the card", ColumnRole::gpu},
     {"direction", "forward, or which gradient; sizes are the forward convolution's throughout"},
     {"dtype", "type of the tensors", ColumnRole::format},
     {"rank", "1 is the fastest solver of its convolution"},
     {"algorithm", "the kind of solver"},
     {"latency_us", "of all kernels of the solver"}}};
// Each solver is started by itself and timed by events: the least is 12 us.
constexpr SourceMapping kMapping{
    .name = "miopen",
    .from = "github.com/ROCm/MIOpen",
    .licence = "MIT",
    .files = kFiles,
    .columns = kColumns,
    .gpus = kGpus,
    .protocol = {"MIOpen's own timing of every solver on the same buffers", Runtime::eager, Warmth::warm}};

struct Sides {
  Count rows = 0, columns = 0;
};

struct Columns {
  explicit Columns(Cells& c)
      : gpu(c.column("gpu")),
        direction(c.column("direction")),
        dtype(c.column("dtype")),
        layout(c.column("layout")),
        batch(c.column("batch")),
        in(c.column("in_channels")),
        size(c.column("in_size")),
        kernel(c.column("kernel")),
        out(c.column("out_channels")),
        pad(c.column("pad")),
        stride(c.column("stride")),
        dilation(c.column("dilation")),
        groups(c.column("groups")),
        rank(c.column("rank")),
        algorithm(c.column("algorithm")),
        latency(c.column("latency_us")) {}
  Column gpu, direction, dtype, layout, batch, in, size, kernel, out, pad, stride, dilation, groups, rank, algorithm,
      latency;
};

// "112x96": rows by columns.
Sides sides(Cells& c, Column column) {
  const std::vector<std::string> parts = split(c.text(column), 'x');
  const auto rows = parts.size() == 2 ? to_count(parts[0]) : std::nullopt;
  const auto columns = parts.size() == 2 ? to_count(parts[1]) : std::nullopt;
  if (!rows || !columns || *rows < 0 || *columns < 0 || *rows > kMostCount || *columns > kMostCount) {
    c.fail(field_error(std::string(column.name), "must be two whole numbers as in 3x3", "fix the row, or remove it"));
    return {};
  }
  return {*rows, *columns};
}

std::string_view shape_of(Cells& c, const Columns& at, Measurement& row) {
  const Sides size = sides(c, at.size), kernel = sides(c, at.kernel), pad = sides(c, at.pad);
  const Sides stride = sides(c, at.stride), dilation = sides(c, at.dilation);
  if (pad.rows != pad.columns || stride.rows != stride.columns || dilation.rows != dilation.columns)
    return "padding or steps that differ between rows and columns";
  Conv2d shape;
  const std::string_view direction = c.text(at.direction);
  if (direction == "backward_data") shape.backward = ConvBackward::data;
  else if (direction == "backward_weights") shape.backward = ConvBackward::weight;
  else if (direction != "forward") return "a direction that is neither forward nor a gradient";
  shape.batch = c.count(at.batch);
  shape.in_channels = c.count(at.in), shape.out_channels = c.count(at.out);
  shape.height = size.rows, shape.width = size.columns;
  if (kernel.rows == kernel.columns) shape.kernel = kernel.rows;
  else shape.kernel_h = kernel.rows, shape.kernel_w = kernel.columns;
  shape.stride = stride.rows, shape.padding = pad.rows, shape.dilation = dilation.rows;
  shape.groups = c.count(at.groups);
  return keep(row, shape);
}

FillRow open(const CsvReader&, Cells& cells, Names& names) {
  return [at = Columns(cells), &names](Cells& c, Measurement& row) -> std::string_view {
    if (const Gpu* gpu = c.gpu(at.gpu)) row.gpu = names.intern(gpu->name);
    row.source = row.engine = "miopen";
    row.engine_version = {};
    row.kernel_source = "miopen";
    row.kernel.format = c.format(c.text(at.dtype));
    row.context = c.context(row.engine, row.kernel_source);
    row.latency = microseconds(c.number(at.latency));
    if (c.text(at.rank) != "1") return "a solver slower than the best";
    if (c.text(at.layout) != "NCHW") return "a layout that is not NCHW";
    if (c.text(at.algorithm) == "Direct") return "only the naive solver was there";
    return shape_of(c, at, row);
  };
}

}  // namespace
}  // namespace miopen

constexpr KernelTables kMiopenKernels{&miopen::kMapping, miopen::kToldBy, miopen::open};

}  // namespace tilecast
