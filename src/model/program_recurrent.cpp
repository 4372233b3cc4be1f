// Recurrent layers as cuDNN runs them: the inputs of all times in one product, then a product and a cell for each time.
#include <algorithm>

#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

struct Recurrence {
  Count steps = 0, batch = 0, input = 0, hidden = 0, gates = 4, layers = 1, directions = 1;
};

// cuDNN's modes: 0 and 1 are plain cells, 2 is LSTM, 3 is GRU.
std::optional<Recurrence> recurrence_of(const OperatorView& view) {
  const ProgramLayout* in = view.tensor("input");
  if (!in || in->shape.size() != 3) return std::nullopt;
  Recurrence r;
  const bool batch_first = view.truth("batch_first");
  r.batch = in->shape[batch_first ? 0 : 1], r.steps = in->shape[batch_first ? 1 : 0], r.input = in->shape[2];
  r.hidden = view.whole("hidden_size", 0), r.layers = std::max<Count>(1, view.whole("num_layers", 1));
  r.directions = view.truth("bidirectional") ? 2 : 1;
  const Count mode = view.whole("mode", 2);
  r.gates = mode == 2 ? 4 : mode == 3 ? 3 : 1;
  constexpr Count kMostHidden = Count{1} << 20, kMostLayers = 1024, kMostRows = Count{1} << 32;
  if (r.batch <= 0 || r.steps <= 0 || r.hidden <= 0 || r.input <= 0) return std::nullopt;
  if (r.hidden > kMostHidden || r.input > kMostHidden || r.layers > kMostLayers || r.batch > kMostRows / r.steps)
    return std::nullopt;
  return r;
}

std::string_view multiplied(const ProgramLayout& in) {
  return in.dtype == "fp32" ? "tf32" : priced_as(in.dtype).format;
}

void add_gemm(KernelList& list, std::string_view name, Count m, Count n, Count k, std::string_view format, Count times) {
  Gemm shape;
  shape.m = m, shape.n = n, shape.k = k;
  list.add(name, shape, format).times = times;
}

void lower_recurrence(const OperatorView& view, KernelList& list) {
  const auto r = recurrence_of(view);
  if (!r) return;
  const ProgramLayout& in = *view.tensor("input");
  const std::string_view format = multiplied(in), base = operator_base(view.name());
  const bool backward = base.ends_with("backward");
  const Count all = r->gates * r->hidden, cells = r->steps * r->layers * r->directions;
  for (Count layer = 0; layer < r->layers; ++layer) {
    const Count width = layer == 0 ? r->input : r->hidden * r->directions;
    if (!backward) {
      add_gemm(list, "inputs of all times", r->steps * r->batch, all * r->directions, width, format, 1);
      continue;
    }
    add_gemm(list, "gradient of the inputs", r->steps * r->batch, width, all * r->directions, format, 1);
    add_gemm(list, "gradient of input weights", all, width, r->steps * r->batch, format, r->directions);
    add_gemm(list, "gradient of state weights", all, r->hidden, r->steps * r->batch, format, r->directions);
    // Sums of the gates' gradients over all times: 32 numbers of the state a CTA, 32 rows at once, gate after gate
    // (the grids and blocks of GENERIC_elementWise_bp2). Of the loads two in three wait for each other in lstm.
    constexpr Count kThreads = 1024, kNumbers = 32;
    constexpr double kAtOnce = 48;
    const auto rows = static_cast<double>(r->steps * r->batch);
    list.add_grid("gradient of biases", static_cast<double>(ceil_div(r->hidden * r->directions, kNumbers)), kThreads,
                  rows * static_cast<double>(all * r->directions) * element_bytes(in.dtype), 1,
                  static_cast<double>(r->gates) * rows / kAtOnce);
  }
  // Layers follow each other by one time: all but one run beside the others.
  const double beside = 1 - 1 / static_cast<double>(r->layers * r->directions);
  const Count length = backward ? all : r->hidden;
  add_gemm(list, "state", r->batch, backward ? r->hidden : all, length, format, cells);
  // cuDNN takes tiles of 64 for these, which are slow where sums are long; short ones wait for their launch.
  constexpr Count kLong = 1024;
  list.last().manner = length >= kLong ? Manner::recurrent_product : Manner::plain, list.last().beside = beside;
  const double cell = static_cast<double>(r->batch * r->hidden) * element_bytes(in.dtype);
  const auto gates = static_cast<double>(r->gates);
  KernelList one;
  one.add_pass("cell", (gates + 1) * cell, (gates + 2) * cell, element_bytes(in.dtype), TorchWalk::vectorized,
               PointwiseOp::tanh);
  for (ProgramKernel& kernel : std::move(one).take())
    list.add(kernel.name, std::move(kernel.kernel.shape), kernel.kernel.format.name).times = cells;
  // Plain cells have no gates to wait for.
  list.last().manner = r->gates > 1 ? Manner::recurrent_cell : Manner::plain, list.last().beside = beside;
}

}  // namespace

// Gates, state and result of every time and layer: 1.61 GB of a layer pair of 1024 over 256 times of 128 sequences in fp32,
// the allocator's peak beyond the record's on an H200 (data/measurements/h200_programs.csv, lstm).
double recurrent_reserve(const OperatorView& view) {
  const auto r = recurrence_of(view);
  if (!r || operator_base(view.name()) != "_cudnn_rnn" || !view.truth("train")) return 0;
  return static_cast<double>((r->gates + 2) * r->hidden * r->steps * r->batch * r->layers * r->directions) *
         element_bytes(view.tensor("input")->dtype);
}

std::span<const ProgramRule> program_recurrent_rules() {
  static const std::vector<ProgramRule> rules = {{"_cudnn_rnn", lower_recurrence},
                                                 {"_cudnn_rnn_backward", lower_recurrence}};
  return rules;
}

}  // namespace tilecast
