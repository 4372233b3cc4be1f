#include "estimate/neusight.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimate/estimate.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/layernorm.h"
#include "kernel/softmax.h"

namespace tilecast {
namespace {

constexpr double kGi = 1024.0 * 1024 * 1024, kMi = 1024.0 * 1024;

// Where NeuSight's device files differ from ours by more than rounding; zero keeps ours. P4 has 20 SMs of 128 lanes,
// H100 3.35 TB/s, L4 58 SMs, MI210 8 MiB of L2: the files are wrong, and the paper's networks were trained with them.
struct Difference {
  std::string_view gpu;
  NeusightDevice theirs;
};
constexpr std::array<Difference, 7> kDifferences = {{{"P4", {40, 5699, 0, 0, 0}},
                                                     {"P100-PCIe", {0, 9519, 0, 0, 0}},
                                                     {"V100-PCIe", {0, 14029, 0, 0, 0}},
                                                     {"T4", {0, 0, 15, 0, 0}},
                                                     {"L4", {60, 31334, 0, 0, 0}},
                                                     {"H100-SXM", {0, 0, 0, 3430, 0}},
                                                     {"MI210", {0, 0, 0, 0, 16}}}};

// NeuSight's pointwise operators by ours and the tensors read; "addu" is add with a scalar.
struct Pointwise {
  PointwiseOp op;
  Count inputs;
  std::string_view name;
};
constexpr std::array<Pointwise, 12> kPointwise = {{{PointwiseOp::add, 2, "add"},
                                                   {PointwiseOp::add, 1, "addu"},
                                                   {PointwiseOp::mul, 2, "mul"},
                                                   {PointwiseOp::mul, 1, "mulu"},
                                                   {PointwiseOp::div, 2, "div"},
                                                   {PointwiseOp::div, 1, "divu"},
                                                   {PointwiseOp::pow, 2, "pow"},
                                                   {PointwiseOp::pow, 1, "powu"},
                                                   {PointwiseOp::square, 1, "powu"},
                                                   {PointwiseOp::relu, 1, "relu"},
                                                   {PointwiseOp::gelu, 1, "gelu"},
                                                   {PointwiseOp::tanh, 1, "tanh"}}};

double round_up_to(double value, double step) { return std::ceil(value / step) * step; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

NeusightCall product_call(std::string_view name, double b, double m, double n, double k, const Format& format) {
  NeusightCall call;
  call.op = call.predictor = name;
  call.product = true;
  call.b = b;
  call.m = m;
  call.n = n;
  call.k = k;
  call.element = format.activation_bits / 8;
  return call;
}

NeusightCall vector_call(std::string_view op, std::string_view predictor, Count rows, Count cols, double operations,
                         Count inputs, const Format& format) {
  NeusightCall call;
  call.op = op;
  call.predictor = predictor;
  call.b = static_cast<double>(rows);
  call.h = static_cast<double>(cols);
  call.element = in_bytes(size_of(format.output));
  call.ops_per_output = operations;
  call.bytes_per_output = call.element * static_cast<double>(inputs + 1);
  return call;
}

std::optional<NeusightCall> pointwise_call(const Elementwise& shape, const Format& format, Count rows, Count cols) {
  if (shape.backward) return std::nullopt;
  if (rows * cols != shape.count()) {
    rows = shape.rows > 0 ? shape.rows : 1;
    cols = shape.count() / rows;
  }
  for (const Pointwise& known : kPointwise)
    if (known.op == shape.op && known.inputs == shape.inputs)
      return vector_call(known.name, "vec", rows, cols, 1, known.inputs, format);
  return std::nullopt;
}

}  // namespace

std::optional<NeusightDevice> neusight_device(const Gpu& gpu, const Format& format, bool product) {
  NeusightDevice device;
  bool fp32 = true;  // on the vector pipe, where the differences were found
  OpsPerSecond peak = gpu.vector_peak(DType::fp32, gpu.clock.quoted_vector);
  if (product) {
    const auto path = math_path(format, gpu);
    if (!path) return std::nullopt;
    fp32 = path->pipe == Pipe::vector && path->input == DType::fp32;
    const Hertz clock = path->pipe == Pipe::vector ? gpu.clock.quoted_vector : gpu.clock.quoted;
    peak = ops(path->ops_per_clock * gpu.sms) * clock;
  }
  device.sms = static_cast<float>(gpu.sms);
  device.peak = static_cast<float>(peak.base() * 1e-9);
  device.memory = static_cast<float>(in_gibibytes(gpu.dram.size));
  device.bandwidth = static_cast<float>(in_gigabytes_per_second(gpu.dram.bandwidth));
  device.l2 = static_cast<float>(in_mebibytes(gpu.l2.size));
  for (const auto& [name, theirs] : kDifferences) {
    if (name != gpu.name && !(gpu.as_parent && name == gpu.parent->name)) continue;
    if (theirs.sms > 0) device.sms = theirs.sms;
    if (theirs.peak > 0 && fp32) device.peak = theirs.peak;
    if (theirs.memory > 0) device.memory = theirs.memory;
    if (theirs.bandwidth > 0) device.bandwidth = theirs.bandwidth;
    if (theirs.l2 > 0) device.l2 = theirs.l2;
  }
  return device;
}

std::array<float, 4> NeusightCall::dims() const {
  if (product) return {static_cast<float>(b), static_cast<float>(m), static_cast<float>(n), static_cast<float>(k)};
  return {static_cast<float>(b), static_cast<float>(h), 0, 0};
}

std::optional<NeusightCall> neusight_call(const Kernel& kernel, Count rows, Count cols) {
  const Format& format = kernel.format;
  const auto number = [](Count n) { return static_cast<double>(n); };
  if (const auto* s = kernel.shape.get_if<Gemm>())
    return product_call("linear", 1, number(s->m), number(s->k), number(s->n), format);
  if (const auto* s = kernel.shape.get_if<Bmm>())
    return product_call("bmm", number(s->batch), number(s->m), number(s->k), number(s->n), format);
  if (const auto* s = kernel.shape.get_if<Softmax>(); s && !s->backward)
    return vector_call("softmax", "softmax", s->rows, s->cols, 5, 1, format);
  if (const auto* s = kernel.shape.get_if<LayerNorm>(); s && !s->backward)
    return vector_call("ln", "ln", s->rows, s->cols, 6, 1, format);
  if (const auto* s = kernel.shape.get_if<Elementwise>()) return pointwise_call(*s, format, rows, cols);
  return std::nullopt;
}

NeusightTerms neusight_terms(const NeusightCall& call, const NeusightTile& tile, const NeusightDevice& device) {
  double blocks, tile_ops, tile_mib, intensity;  // GFLOP, MiB, GFLOP per GiB
  if (call.product) {
    const double m = round_up_to(call.m, tile.m), k = round_up_to(call.k, tile.k);
    blocks = call.b * (m / tile.m) * (k / tile.k);
    tile_ops = 2.0 * tile.m * call.n * tile.k / 1e9;
    tile_mib = call.element * (tile.m * call.n + call.n * tile.k + tile.m * tile.k) / kMi;
    const double gib = call.element * (call.m * call.n + call.n * call.k + call.m * call.k) / kGi;
    intensity = 2 * m * call.n * k / 1e9 / gib;
  } else {
    const double h = round_up_to(call.h, tile.elements);
    blocks = call.b * (h / tile.elements);
    tile_ops = call.ops_per_output * tile.elements / 1e9;
    tile_mib = call.bytes_per_output * tile.elements / kMi;
    intensity = call.ops_per_output * h / 1e9 / (call.bytes_per_output * call.h / kGi);
  }
  NeusightTerms terms;
  terms.waves = std::ceil(blocks / device.sms);
  const double roof = std::min<double>(device.peak, intensity * device.bandwidth);
  terms.at_full = seconds(terms.waves * device.sms * tile_ops / roof);
  const double inputs[4] = {tile_ops / (device.peak / 1000 / device.sms), tile_mib / (device.bandwidth / device.sms),
                            terms.waves * tile_mib / (device.memory * 1024 / device.sms),
                            terms.waves * tile_mib / (device.l2 * 1024 / device.sms)};
  for (std::size_t i = 0; i < 4; ++i) terms.features[i] = static_cast<float>(std::log2(inputs[i]));
  return terms;
}

double neusight_utilisation(std::span<const float> outputs, double waves) {
  return sigmoid(outputs[2]) - sigmoid(outputs[0]) / waves;
}

Seconds neusight_time(const NeusightTerms& terms, std::span<const float> outputs) {
  const double u = neusight_utilisation(outputs, terms.waves);
  return u > 0 ? terms.at_full / u : seconds(0);
}

std::optional<NeusightTile> NeusightDonors::nearest(const std::array<float, 4>& dims,
                                                    const NeusightDevice& device) const {
  const auto square = [](double d) { return d * d; };
  std::vector<double> apart;  // of the devices
  for (const NeusightDevice& d : devices)
    apart.push_back(square(d.sms - device.sms) + square(d.peak - device.peak) + square(d.memory - device.memory) +
                    square(d.bandwidth - device.bandwidth) + square(d.l2 - device.l2));
  std::optional<NeusightTile> tile;
  double least = std::numeric_limits<double>::infinity();
  for (const Donor& donor : donors) {
    double distance = apart[donor.device];
    if (distance >= least) continue;
    for (std::size_t i = 0; i < 4; ++i) distance += square(static_cast<double>(donor.dims[i]) - dims[i]);
    if (distance >= least) continue;
    least = distance;
    tile = donor.tile;
  }
  return tile;
}

std::string neusight_key(std::string_view name, const Gpu& gpu, const Format& format) {
  const std::string_view vendor = gpu.vendor == Vendor::nvidia ? "nvidia" : gpu.vendor == Vendor::amd ? "amd" : "intel";
  return std::string(vendor) + "/" + std::string(name) + "/" + std::string(format.name);
}

Seconds neusight_memory_time(const Plan& plan, const NeusightDevice& device) {
  Bytes moved;
  for (const Launch& launch : plan.launches)
    for (const Operand& operand : launch.operands)
      if (operand.role != Operand::Role::workspace)
        moved += operand.size * ((operand.read ? 1.0 : 0.0) + (operand.written ? 1.0 : 0.0));
  return seconds(in_bytes(moved) / (device.bandwidth * kGi));
}

std::optional<Seconds> neusight_forecast(const NeusightWeights& weights, const Kernel& kernel, const Plan& plan,
                                         const Gpu& gpu, Count rows, Count cols) {
  const auto call = neusight_call(kernel, rows, cols);
  const auto device = neusight_device(gpu, kernel.format, call && call->product);
  if (!device) return std::nullopt;
  if (!call) return neusight_memory_time(plan, *device);
  const auto predictor = weights.predictors.find(neusight_key(call->predictor, gpu, kernel.format));
  const auto donors = weights.donors.find(neusight_key(call->op, gpu, kernel.format));
  if (predictor == weights.predictors.end() || donors == weights.donors.end()) return std::nullopt;
  const auto tile = donors->second.nearest(call->dims(), *device);
  if (!tile) return std::nullopt;
  // One block per row: the donor's row is not ours.
  const bool row_wise = call->predictor == "ln" || call->predictor == "softmax";
  const NeusightTile own = row_wise ? NeusightTile{0, 0, static_cast<float>(call->h)} : *tile;
  const NeusightTerms terms = neusight_terms(*call, own, *device);
  return neusight_time(terms, predictor->second.network.forward(terms.features));
}

std::string to_bytes(const NeusightWeights& weights) {
  PackWriter out;
  out.counts(weights.sources);
  write_trained(out, weights.predictors);
  out.count(weights.donors.size());
  for (const auto& [key, table] : weights.donors) {
    out.text(key);
    out.list(std::span<const NeusightDevice>(table.devices));
    out.list(std::span<const NeusightDonors::Donor>(table.donors));
  }
  return pack(name_of(Method::neusight), out, 1);
}

Result<NeusightWeights> neusight_from_bytes(std::string_view bytes, const std::string& place) {
  const auto plain = unpack(bytes, name_of(Method::neusight), place, kPackVersionOfUnnamed);
  if (!plain) return plain.error();
  PackReader in(*plain);
  NeusightWeights weights;
  weights.sources = in.counts();
  weights.predictors = read_trained(in, [](const Mlp& m) { return m.inputs() == 4 && m.outputs() == 3; });
  for (std::size_t i = 0, n = in.count(10000); i < n && !in.bad(); ++i) {
    const std::string key = in.text();
    NeusightDonors& table = weights.donors[key];
    table.devices = in.list<NeusightDevice>(1000);
    table.donors = in.list<NeusightDonors::Donor>(10'000'000);
    for (const auto& donor : table.donors)
      if (donor.device >= table.devices.size()) in.spoil();
  }
  if (in.bad() || !in.at_end()) return damaged(place, "its contents do not parse");
  return weights;
}

}  // namespace tilecast
