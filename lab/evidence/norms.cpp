#include "lab/evidence/norms.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "support/csv.h"
#include "support/number.h"

namespace tilecast {
namespace {

enum NormColumn : std::uint8_t {
  kNormCase,
  kNormHalf,
  kNormKind,
  kNormDtype,
  kNormLayout,
  kNormBatch,
  kNormChannels,
  kNormSide,
  kNormDirection,
  kNormKernel,
  kNormTime,
  kNormColumns
};
constexpr std::array<std::string_view, kNormColumns> kNormNames = {
    "case", "half", "kind", "dtype", "layout", "batch", "channels", "side", "direction", "name", "us"};

// Of a group norm and in fp32 other kernels run; copies of parameters and sums over instances are operators of their
// own.
bool is_judged(std::string_view kind, std::string_view dtype, std::string_view layout, std::string_view kernel) {
  return kind != "group" && dtype != "float32" && layout == "first" &&
         kernel.find("batch_norm") != std::string_view::npos;
}

Count positions_of(std::string_view side) {
  Count product = 1;
  while (!side.empty()) {
    const auto cross = side.find('x');
    product *= to_count(side.substr(0, cross)).value_or(1);
    side = cross == std::string_view::npos ? std::string_view() : side.substr(cross + 1);
  }
  return product;
}

// Instances are channels of one image.
void add_norm(ProgramFile& file, const JudgedConvolution& row, Count images, Count channels, Count positions) {
  if (row.kind == "instance") channels *= images, images = 1;
  ProgramLayout image;
  image.dtype = row.dtype == "float16" ? "fp16" : "bf16", image.on_card = true;
  image.shape = {images, channels, positions}, image.strides = {channels * positions, positions, 1};
  file.layouts.push_back(image);
  const int place = static_cast<int>(file.layouts.size()) - 1;
  ProgramOperator op;
  op.name = row.direction == "forward" ? "aten.native_batch_norm" : "aten.native_batch_norm_backward";
  op.arguments.push_back({"input", ProgramValue::tensor, {place}, {}, {}});
  op.results = {place};
  file.operators.push_back(std::move(op));
  ProgramCall call;
  call.op = static_cast<int>(file.operators.size()) - 1;
  file.calls.push_back(call);
}

}  // namespace

Result<std::vector<JudgedConvolution>> judge_norms(const std::string& table, const std::string& gpu,
                                                   const ModelSource& weights) {
  auto reader = CsvReader::open(table);
  if (!reader) return std::move(reader).error();
  std::array<std::size_t, kNormColumns> places{};
  for (std::size_t i = 0; i < kNormNames.size(); ++i) {
    const auto found = reader->column(kNormNames[i]);
    if (!found) return found.error();
    places[i] = *found;
  }
  std::vector<JudgedConvolution> rows;
  ProgramFile file;
  std::map<std::string, std::size_t> known;
  for (;;) {
    const auto more = reader->next();
    if (!more) return more.error();
    if (!*more) break;
    const auto cell = [&](NormColumn c) { return (*reader)[places[c]]; };
    if (!is_judged(cell(kNormKind), cell(kNormDtype), cell(kNormLayout), cell(kNormKernel))) continue;
    const auto [place, fresh] = known.emplace(fmt::format("{} {}", cell(kNormCase), cell(kNormDirection)), rows.size());
    if (fresh) {
      JudgedConvolution one;
      one.name = cell(kNormCase), one.half = cell(kNormHalf), one.kind = cell(kNormKind), one.dtype = cell(kNormDtype);
      one.direction = cell(kNormDirection);
      const auto whole = [&](NormColumn c) { return to_count(cell(c)).value_or(1); };
      add_norm(file, one, whole(kNormBatch), whole(kNormChannels), positions_of(cell(kNormSide)));
      rows.push_back(std::move(one));
    }
    rows[place->second].measured += to_double(cell(kNormTime)).value_or(0);
  }
  if (auto priced = price_operators(file, rows, gpu, weights); !priced) return std::move(priced).error();
  return rows;
}

}  // namespace tilecast
