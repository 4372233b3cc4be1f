#include "engine/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "constants/engine.h"
#include "engine/attention_kernel.h"
#include "engine/path.h"
#include "engine/rocm.h"
#include "engine/run_width.h"
#include "estimate/power.h"
#include "kernel/attention.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_sources.h"
#include "kernel/gemm.h"
#include "kernel/shape_text.h"

namespace tilecast {

using namespace constants;

namespace {

// A call's widths in seconds to one side: what it shares with all others, and the rest.
struct Reach {
  double shared = 0, rest = 0;
};
Reach reach_of(const CallForecast& c, double times, bool up) {
  const Seconds width = up ? c.interval.high - c.each : c.each - c.interval.low;
  const double whole = std::max(0.0, width.base()) * times;
  // Nothing runs faster than its bound.
  const double most = up ? std::numeric_limits<double>::infinity() : std::max(0.0, (c.each - c.bound).base());
  const double common = std::min(c.each.base() * (up ? std::expm1(c.shared.up) : -std::expm1(-c.shared.down)), most);
  const double shared = common * times;
  return {shared, std::sqrt(std::max(0.0, whole * whole - shared * shared))};
}

// How far the sum's interval reaches to one side.
Seconds joint_reach(const Program& program, const std::vector<CallForecast>& calls, bool up) {
  double common = 0, own = 0, all = 0;
  std::map<std::pair<std::size_t, FormatId>, double> by_family;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Reach reach = reach_of(calls[i], static_cast<double>(program.calls[i].times), up);
    const Kernel& kernel = program.calls[i].kernel;
    common += reach.shared;
    own += reach.rest * reach.rest;
    all += reach.rest;
    by_family[{kernel.shape.index(), kernel.format.id}] += reach.rest;
  }
  double alike = 0;
  for (const auto& [family, sum] : by_family) alike += sum * sum;
  const double rest = (1 - kSameFamily) * own + (kSameFamily - kAnyFamily) * alike + kAnyFamily * all * all;
  return seconds(std::sqrt(common * common + rest));
}

// Methods that give only a time.
bool is_exact(const std::vector<CallForecast>& calls) {
  return std::all_of(calls.begin(), calls.end(),
                     [](const CallForecast& c) { return !(c.interval.low < c.interval.high); });
}

}  // namespace

Interval interval_of_sum(const Program& program, const std::vector<CallForecast>& calls, Seconds sum) {
  return {std::max(seconds(0), sum - joint_reach(program, calls, false)), sum + joint_reach(program, calls, true)};
}

void add_interval(ProgramForecast& step, const Program& program, Seconds between) {
  step.interval = step.parts = {step.total, step.total};
  if (is_exact(step.calls)) return;
  const Interval of_gpu = interval_of_sum(program, step.calls, step.gpu);
  const Interval of_host = around(step.host, host_width()), apart = around(between, host_width());
  const Seconds longer = std::max(step.gpu, step.host);
  const auto both = [](Seconds a, Seconds b) { return seconds(std::hypot(a.base(), b.base())); };
  step.parts = {step.total - both(longer - std::max(of_gpu.low, of_host.low), between - apart.low),
                step.total + both(std::max(of_gpu.high, of_host.high) - longer, apart.high - between)};
  step.parts.low = std::max(step.parts.low, std::min(step.bound, step.total));
  step.interval = of_whole_run(step.parts, step.total, kind_of(program, false), {step.host_bound(), step.bound});
}

namespace {

// A kernel's energy and time, by launches; the time at the highest clock is scaled so that the kernel takes `latency`
// at the clock it was forecast at, its floors among what no clock changes.
void set_work(CallForecast& call, const Estimate& e) {
  Seconds slowed, all;
  for (const LaunchEstimate& launch : e.launches) {
    call.work = call.work + launch.work;
    slowed += launch.work.clocked / launch.clock;
    all += launch.work.at(launch.clock) + launch.floor;
  }
  if (!(all > seconds(0))) return;
  const double scale = call.unheated / all;
  call.clock = slowed > seconds(0) ? call.work.clocked / slowed : 1;
  call.work.clocked = call.work.clocked * scale;
  call.work.fixed = call.unheated - slowed * scale;
}

// Steps follow one another, so the card is warm: its clock is what the average power of a step allows. What each kernel
// does at that clock takes correspondingly longer, unless the kernel alone had slowed the clock that far.
void warm_up(ProgramForecast& step, const Program& program, const Gpu& gpu) {
  const PowerLaw law = power_law(gpu);
  PowerWork all;
  for (std::size_t i = 0; i < step.calls.size(); ++i)
    all = all + step.calls[i].work * static_cast<double>(program.calls[i].times);
  const double clock = clock_under(law, all, law.limit);
  for (CallForecast& c : step.calls) {
    if (!(clock < c.clock) || !(c.each > seconds(0))) continue;
    const double longer = c.work.at(clock) / c.work.at(c.clock);
    c.each = c.each * longer;
    c.interval = {c.interval.low * longer, c.interval.high * longer};
    c.ceiling = c.ceiling * longer;
  }
}

// An upper limit on a kernel's time from another kernel that does all of its work and more; empty if there is none.
// - A window leaves out keys, so decoding with one takes hardly longer than without: at most 1.25 times where both were
//   measured (H100 and H200; AIConfigurator's generation_attention, vLLM, window 128). Of cards without a measured
//   window the learned part asks for several times as much.
// - A product whose scales are fixed spares the passes that find scales and quantise. Engines were measured with those;
//   products with fixed scales are other libraries' rows. Nor does it take longer than the same product in 16 bits, of
//   which the engine's own rows hold the product alone: it reads half the bytes and multiplies at twice the rate.
struct NoLonger {
  Kernel than;
  double factor = 1;
};
std::vector<NoLonger> no_longer(const Kernel& kernel, const Gpu& gpu, const Context& context) {
  if (const auto* decode = kernel.shape.get_if<AttentionDecode>(); decode && decode->window > 0) {
    NoLonger whole{kernel, kWindowFactor};
    whole.than.shape.as<AttentionDecode>().window = 0;
    return {whole};
  }
  const bool engines =
      context.engine == Launcher::vllm || context.engine == Launcher::sglang || context.engine == Launcher::trtllm;
  if (kernel.shape.is<Gemm>() && kernel.format.id == FormatId::fp8_static && engines && gpu.vendor == Vendor::nvidia)
    return {NoLonger{Kernel{kernel.shape, *format_from("fp8")}}, NoLonger{Kernel{kernel.shape, *format_from("bf16")}}};
  return {};
}

Result<Priced> price_call(const Kernel& kernel, const Gpu& gpu, const Context& context, Method method,
                          const ModelSource* weights, Wanted wanted) {
  auto priced = price(kernel, gpu, context, method, weights, wanted);
  if (!priced) return priced;
  for (const NoLonger& most : no_longer(kernel, gpu, context)) {
    const auto other = price(most.than, gpu, context, method, weights, Wanted::time);
    if (!other) continue;
    Estimate& e = priced->estimate;
    const double longer = e.latency / (other->estimate.latency * most.factor);
    if (!(longer > 1)) continue;
    e.latency = e.latency / longer;
    e.interval = {e.interval.low / longer, e.interval.high / longer};
  }
  return priced;
}

// A call as the engine runs it on this card: the format its product takes, and whose kernel that is.
struct RunAs {
  Kernel kernel;
  Context context;
};
RunAs run_as(const KernelCall& call, const Gpu& gpu, bool rocm_2024, PyTorchVersion torch) {
  RunAs as{call.kernel, call.context};
  const ChosenPath path = call.narrow ? narrow_path(gpu, call.kernel) : path_on(gpu, call.kernel, call.context.engine);
  as.kernel.format = path.format;
  // The kernel that wrote the input has already quantised it; another engine's product is timed with its own
  // quantisation.
  const bool elsewhere = call.kernel.shape.is<Gemm>() && path.engine != call.context.engine;
  if (call.kernel.format.quantise == Quantise::none && !elsewhere) as.kernel.format.quantise = Quantise::none;
  as.context.engine = path.engine;
  as.context.torch = torch_release(torch.major, torch.minor);
  KernelSource& source = as.context.kernel_source;
  if (source.empty()) source = path.kernel_source;
  if (!resolve_algorithm(algorithm_named(source), gpu)) source = {};
  as.kernel.shape = attention_that_runs(gpu, std::move(as.kernel.shape));
  as.kernel.shape = scan_that_runs(gpu, as.context.engine, std::move(as.kernel.shape));
  if (source.empty())
    source = attention_source_on(gpu, call.kernel.shape, as.context.engine, call.kernel.format, torch);
  if (rocm_2024)
    if (const auto older = rocm_2024_attention(call.kernel.shape); !older.empty()) source = older;
  return as;
}

// Where a call runs, and how it is forecast.
struct Pricing {
  const Gpu& gpu;
  Method method;
  const ModelSource* weights;
  bool rocm_2024;
  PyTorchVersion torch;
  Wanted wanted = Wanted::all;
};

// One call on a card that the rest of its step leaves cool. Errors name the call.
Result<CallForecast> forecast_call(const KernelCall& call, const Pricing& p) {
  if (call.turns && multiplies_any_layout(p.gpu)) return CallForecast{};  // nothing to transpose for
  const RunAs as = run_as(call, p.gpu, p.rocm_2024, p.torch);
  auto priced = price_call(as.kernel, p.gpu, as.context, p.method, p.weights, p.wanted);
  if (!priced) {
    Error failure = std::move(priced).error();
    failure.place = call.name;
    return failure;
  }
  const Estimate& e = priced->estimate;
  Bytes moved;
  for (const LaunchEstimate& launch : e.launches) moved += launch.traffic.total();
  Seconds latency = e.latency * call.longer;
  if (p.gpu.tensor_generation() == TensorGeneration::wgmma) latency = latency * call.wgmma_longer;
  if (p.rocm_2024) latency = std::max(latency, untuned_product(call.kernel, p.gpu));
  const double longer = e.latency > seconds(0) ? latency / e.latency : 1;
  const Interval interval{e.interval.low * longer, e.interval.high * longer};
  // A well-tuned kernel is not one of the older ones that `longer` stands for.
  CallForecast forecast{latency, interval, e.ceiling, e.bound, e.limited_by, e.seen,
                        latency, {},       1,         moved,   e.shared,     as.kernel.format.name};
  set_work(forecast, e);
  return forecast;
}

// Everything a call's cost depends on besides the GPU and the method.
std::string cost_key(const KernelCall& call, const Program& program) {
  const Format& f = call.kernel.format;
  const Context& c = call.context;
  std::string key = fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|", static_cast<int>(program.engine),
      static_cast<int>(program.era), program.torch.minor, program.torch.patch, call.kernel.shape.index(), f.name,
      static_cast<int>(f.math), static_cast<int>(f.accumulate), f.weight_bits, f.activation_bits,
      static_cast<int>(f.output), static_cast<int>(f.quantise), f.unpack_weights, static_cast<int>(c.runtime),
      static_cast<int>(c.warmth), c.weight_copies, c.activation_copies, c.engine.text(), c.kernel_source.text(),
      static_cast<int>(c.run), static_cast<int>(c.data), call.longer, call.wgmma_longer,
      (call.narrow ? 1 : 0) + (call.turns ? 2 : 0));
  append_dims(key, call.kernel.shape);
  return key;
}

}  // namespace

Result<std::vector<CallCost>> call_costs(const Program& program, const Gpu& gpu, Method method,
                                         const ModelSource* weights, KnownCosts* known) {
  const Pricing pricing{gpu, method, weights, is_rocm_2024(program, gpu), program.torch, Wanted::time};
  const Seconds switching = host_on(gpu, program).switching;
  std::vector<CallCost> costs;
  costs.reserve(program.calls.size());
  for (const KernelCall& call : program.calls) {
    std::string key = known ? cost_key(call, program) : std::string();
    if (known)
      if (const auto at = known->find(key); at != known->end()) {
        costs.push_back(at->second);
        continue;
      }
    auto forecast = forecast_call(call, pricing);
    if (!forecast) return std::move(forecast).error();
    costs.push_back({forecast->unheated + switching, forecast->work, forecast->clock});
    if (known) known->emplace(std::move(key), costs.back());
  }
  return costs;
}

Result<ProgramForecast> forecast_step(const Program& program, const Gpu& gpu, Count sequences, Method method,
                                      const ModelSource* weights) {
  ProgramForecast step;
  step.calls.reserve(program.calls.size());
  const Pricing pricing{gpu, method, weights, is_rocm_2024(program, gpu), program.torch};
  const HostCost host = host_on(gpu, program);
  for (const KernelCall& call : program.calls) {
    auto forecast = forecast_call(call, pricing);
    if (!forecast) return std::move(forecast).error();
    step.calls.push_back(*forecast);
  }
  if (method == Method::tilecast || method == Method::analytic) warm_up(step, program, gpu);
  for (CallForecast& c : step.calls) {
    c.each += host.switching;
    c.unheated += host.switching;
    c.interval = {c.interval.low + host.switching, c.interval.high + host.switching};
  }
  for (std::size_t i = 0; i < step.calls.size(); ++i) {
    const auto times = static_cast<double>(program.calls[i].times);
    step.gpu += step.calls[i].each * times;
    step.ceiling += step.calls[i].ceiling * times;
    step.bound += step.calls[i].bound * times;
    step.flops += program.calls[i].flops * times;
  }
  step.host = host.per_launch * static_cast<double>(program.launches());
  const Seconds between = host.per_step + host.per_sequence * static_cast<double>(sequences);
  step.total = std::max(step.gpu, step.host) + between;
  add_interval(step, program, between);
  return step;
}

}  // namespace tilecast
