#include "lab/evidence/convolutions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/program_run.h"
#include "gpu/registry.h"
#include "support/csv.h"
#include "support/number.h"

namespace tilecast {
namespace {

enum ConvolutionColumn : std::uint8_t {
  kCase,
  kHalf,
  kKind,
  kDtype,
  kLayout,
  kBatch,
  kInputs,
  kOutputs,
  kSide,
  kTaps,
  kStride,
  kPadding,
  kDilation,
  kGroups,
  kTransposed,
  kDirection,
  kTime,
  kColumnCount
};
constexpr std::array<std::string_view, kColumnCount> kColumns = {
    "case",   "half",   "kind",    "dtype",    "layout", "batch",      "inputs",    "outputs", "side",
    "kernel", "stride", "padding", "dilation", "groups", "transposed", "direction", "us"};

std::vector<Count> lengths_of(std::string_view text) {
  std::vector<Count> sizes;
  while (!text.empty()) {
    const auto cross = text.find('x');
    sizes.push_back(to_count(text.substr(0, cross)).value_or(1));
    text = cross == std::string_view::npos ? std::string_view() : text.substr(cross + 1);
  }
  return sizes;
}

std::string program_dtype(std::string_view torch) {
  return torch == "float32" ? "fp32" : torch == "float16" ? "fp16" : "bf16";
}

// Strides of a tensor whose channels (axis 1) vary fastest, or slowest after the batch.
int add_layout(ProgramFile& file, std::string_view dtype, std::vector<Count> shape, bool last) {
  ProgramLayout layout;
  layout.dtype = dtype, layout.on_card = true;
  layout.strides.assign(shape.size(), 1);
  Count step = 1;
  if (last) layout.strides[1] = 1, step = shape[1];
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (last && i == 1) continue;
    layout.strides[i] = step, step *= shape[i];
  }
  layout.shape = std::move(shape);
  file.layouts.push_back(std::move(layout));
  return static_cast<int>(file.layouts.size()) - 1;
}

std::vector<Count> image_shape(Count batch, Count channels, const std::vector<Count>& side) {
  std::vector<Count> shape = {batch, channels};
  shape.insert(shape.end(), side.begin(), side.end());
  return shape;
}

Count results_along(const ConvolutionRow& row, Count size, Count taps) {
  const Count reach = row.dilation * (taps - 1);
  if (row.transposed) return (size - 1) * row.stride - 2 * row.padding + reach + 1;
  return (size + 2 * row.padding - reach - 1) / row.stride + 1;
}

ProgramArgument tensor_argument(std::string name, int layout) {
  return {std::move(name), ProgramValue::tensor, {layout}, {}, {}};
}
ProgramArgument whole_argument(std::string name, std::vector<Count> values, ProgramValue kind = ProgramValue::wholes) {
  return {std::move(name), kind, std::move(values), {}, {}};
}

double time_of(std::string_view text) { return to_double(text).value_or(0); }
double relative_error(const JudgedConvolution& c) { return c.forecast / c.measured - 1; }

bool is_wanted(const JudgedConvolution& c, const ConvolutionChoice& wanted) {
  const auto fits = [](std::string_view asked, std::string_view is) { return asked.empty() || asked == is; };
  return fits(wanted.half, c.half) && fits(wanted.kind, c.kind) && fits(wanted.direction, c.direction);
}

// The rows of one direction of a case need not be adjacent; their times are summed.
struct ReadTable {
  std::vector<JudgedConvolution> rows;
  ProgramFile file;  // an operator for each
};
Result<ReadTable> read_table(const std::string& path) {
  auto reader = CsvReader::open(path);
  if (!reader) return std::move(reader).error();
  std::array<std::size_t, kColumnCount> places{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = reader->column(kColumns[i]);
    if (!found) return found.error();
    places[i] = *found;
  }
  ReadTable table;
  std::map<std::string, std::size_t> known;
  for (;;) {
    const auto more = reader->next();
    if (!more) return more.error();
    if (!*more) break;
    const auto cell = [&](ConvolutionColumn c) { return (*reader)[places[c]]; };
    const auto whole = [&](ConvolutionColumn c) { return to_count(cell(c)).value_or(1); };
    const auto [place, fresh] = known.emplace(fmt::format("{} {}", cell(kCase), cell(kDirection)), table.rows.size());
    if (fresh) {
      JudgedConvolution one;
      one.name = cell(kCase), one.half = cell(kHalf), one.kind = cell(kKind), one.dtype = cell(kDtype);
      one.direction = cell(kDirection);
      table.rows.push_back(std::move(one));
      ConvolutionRow row{cell(kDtype), cell(kLayout), cell(kSide), cell(kTaps), cell(kDirection)};
      row.batch = whole(kBatch), row.inputs = whole(kInputs), row.outputs = whole(kOutputs);
      row.stride = whole(kStride), row.padding = whole(kPadding), row.dilation = whole(kDilation);
      row.groups = whole(kGroups), row.transposed = cell(kTransposed) == "1";
      add_convolution(table.file, row);
    }
    table.rows[place->second].measured += time_of(cell(kTime));
  }
  return table;
}

std::string table_line(const ConvolutionTable& table, std::string_view kind, std::string_view direction) {
  std::string line = fmt::format("| {} | {} |", kind.empty() ? "all" : kind, direction);
  for (const char* half : {"choose", "judge"}) {
    const ConvolutionErrors e = convolution_errors(table.rows, {half, kind, direction});
    if (e.count == 0) return "";
    line += fmt::format(" {} | {:.1f} / {:.1f} | {:+.1f} |", e.count, 100 * e.mean, 100 * e.median, 100 * e.bias);
  }
  return line + "\n";
}

}  // namespace

void add_convolution(ProgramFile& file, const ConvolutionRow& row) {
  const std::vector<Count> side = lengths_of(row.side), taps = lengths_of(row.kernel);
  const bool last = row.layout == "last", forward = row.direction == "forward";
  const std::string dtype = program_dtype(row.dtype);
  std::vector<Count> results;
  for (std::size_t i = 0; i < side.size(); ++i) results.push_back(results_along(row, side[i], taps[i]));
  const Count front = row.transposed ? row.inputs : row.outputs, back = row.transposed ? row.outputs : row.inputs;
  const int image = add_layout(file, dtype, image_shape(row.batch, row.inputs, side), last);
  const int filter = add_layout(file, dtype, image_shape(front, back / row.groups, taps), last);
  const int result = add_layout(file, dtype, image_shape(row.batch, row.outputs, results), last);
  ProgramOperator op;
  op.name = forward ? "aten.convolution.default" : "aten.convolution_backward.default";
  if (!forward) op.arguments.push_back(tensor_argument("grad_output", result));
  op.arguments.push_back(tensor_argument("input", image));
  op.arguments.push_back(tensor_argument("weight", filter));
  op.arguments.push_back(whole_argument("stride", std::vector<Count>(side.size(), row.stride)));
  op.arguments.push_back(whole_argument("padding", std::vector<Count>(side.size(), row.padding)));
  op.arguments.push_back(whole_argument("dilation", std::vector<Count>(side.size(), row.dilation)));
  op.arguments.push_back(whole_argument("transposed", {row.transposed ? 1 : 0}, ProgramValue::truth));
  op.arguments.push_back(whole_argument("groups", {row.groups}, ProgramValue::whole));
  const Count data = row.direction == "data" ? 1 : 0;
  if (!forward) op.arguments.push_back(whole_argument("output_mask", {data, 1 - data, 0}, ProgramValue::truths));
  op.results = {forward ? result : data ? image : filter};
  file.operators.push_back(std::move(op));
  ProgramCall call;
  call.op = static_cast<int>(file.operators.size()) - 1;
  file.calls.push_back(call);
}

Status price_operators(ProgramFile& file, std::vector<JudgedConvolution>& rows, const std::string& gpu,
                       const ModelSource& weights) {
  const auto card = find_gpu(gpu);
  if (!card) return card.error();
  file.phases = {"forward"}, file.modules = {""};
  const RecordedProgram recorded = as_kernels(file, *card);
  const auto forecast = forecast_recorded(recorded, *card, Method::tilecast, &weights);
  if (!forecast) return forecast.error();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (recorded.use_of_call[i] < 0) continue;
    const OperatorUse& use = recorded.uses[static_cast<std::size_t>(recorded.use_of_call[i])];
    for (std::size_t k = use.first; k < use.first + use.kernels; ++k) {
      const Seconds each = forecast->step.calls[k].unheated - recorded.program.host.switching;
      rows[i].forecast += in_microseconds(each) * static_cast<double>(recorded.program.calls[k].times);
    }
  }
  return Ok{};
}

Result<std::vector<JudgedConvolution>> judge_convolutions(const std::string& table, const std::string& gpu,
                                                          const ModelSource& weights) {
  auto read = read_table(table);
  if (!read) return std::move(read).error();
  if (auto priced = price_operators(read->file, read->rows, gpu, weights); !priced) return std::move(priced).error();
  return std::move(read->rows);
}

ConvolutionErrors convolution_errors(const std::vector<JudgedConvolution>& all, const ConvolutionChoice& wanted) {
  ConvolutionErrors e;
  std::vector<double> errors;
  double forecast = 0, measured = 0;
  for (const JudgedConvolution& c : all) {
    if (!is_wanted(c, wanted)) continue;
    errors.push_back(std::abs(relative_error(c)));
    forecast += c.forecast, measured += c.measured;
  }
  if (errors.empty()) return e;
  e.count = static_cast<int>(errors.size());
  for (const double error : errors) e.mean += error / static_cast<double>(errors.size());
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  e.median = *middle, e.bias = forecast / measured - 1;
  return e;
}

std::string convolutions_report(const std::vector<ConvolutionTable>& tables) {
  std::string out =
      "# Convolutions and norms of images\n\n"
      "Measured on an H200 (PyTorch 2.11.0, cuDNN 9.19, whose heuristics choose), beside what recorded programs price "
      "them "
      "at: every kernel of a direction of a case, layout changes and memory that is cleared among them. Half of the "
      "cases, "
      "by a hash of their names, are those that rules and constants were chosen on; the other half judges. Errors in "
      "percent: mean / median of single cases, and of the sum of all their times, in which a few engines tens of times "
      "slower "
      "than others weigh most: which of them cuDNN takes is foreseen for about four cases in five of those in groups. "
      "Generated by "
      "`TILECAST_UPDATE_DOCS=1 build/release/lab/test_lab_evidence --gtest_filter='Convolutions.*'`.\n";
  for (const ConvolutionTable& table : tables) {
    out += fmt::format(
        "\n## {}\n\n| kind | direction | chosen on | error | of the sum | judged | error | of the sum |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
        table.title);
    for (const char* kind : {"2d", "1d", "3d", "transposed", "grouped", "depthwise", "batch", "instance"})
      for (const char* direction : {"forward", "data", "filter", "backward"}) out += table_line(table, kind, direction);
    out += table_line(table, "", "");
  }
  return out;
}

}  // namespace tilecast
