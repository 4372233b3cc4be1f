#include "tilecast/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "api/answer_each.h"
#include "api/common_arguments.h"
#include "api/declare.h"
#include "engine/attention_kernel.h"
#include "estimate/learned.h"
#include "estimate/physics.h"
#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "estimate/trained_method.h"
#include "gpu/registry.h"
#include "kernel/attention_sources.h"
#include "kernel/kernel.h"
#include "kernel/scan.h"
#include "kernel/shape_columns.h"
#include "support/text.h"

namespace tilecast {
namespace {

// What queries name by text, looked up once however many ask for it.
class LookedUp {
 public:
  Result<const Gpu*> gpu(const std::string& name) {
    if (name.empty()) return field_error("gpu", "is missing", "for example H100-SXM");
    auto [found, fresh] = gpus_.try_emplace(name, nullptr);
    if (fresh) {
      auto loaded = load_gpu(name);
      if (!loaded) return gpus_.erase(found), in_field(std::move(loaded).error(), "gpu");
      found->second = std::make_unique<Gpu>(*std::move(loaded));
    }
    return found->second.get();
  }
  // Null where the shipped weights speak.
  Result<const Weights*> weights(const std::string& path) {
    if (path.empty()) return nullptr;
    auto [found, fresh] = weights_.try_emplace(path, nullptr);
    if (fresh) {
      auto loaded = load_weights(path);
      if (!loaded) return weights_.erase(found), std::move(loaded).error();
      found->second = std::make_unique<Weights>(*std::move(loaded));
    }
    return found->second.get();
  }
  Result<const TrainedMethod*> trained(Method method, const std::string& path) {
    auto [found, fresh] = trained_.try_emplace({method, path}, nullptr);
    if (fresh) {
      auto loaded = load_method(method, path);
      if (!loaded) return trained_.erase(found), std::move(loaded).error();
      found->second = *std::move(loaded);
    }
    return found->second.get();
  }

 private:
  std::map<std::string, std::unique_ptr<Gpu>> gpus_;
  std::map<std::string, std::unique_ptr<Weights>> weights_;
  std::map<std::pair<Method, std::string>, std::unique_ptr<TrainedMethod>> trained_;
};

Result<Context> context_of(const KernelQuery& query) {
  if (query.weight_copies < 1 || query.weight_copies > 1000000)
    return field_error("weight-copies", "must lie between 1 and 1000000", "for example 6");
  Context context;
  context.runtime = query.runtime;
  context.warmth = query.warmth;
  context.run = query.run;
  context.data = query.data;
  context.weight_copies = static_cast<int>(query.weight_copies);
  context.engine = Launcher::named(query.engine);
  context.kernel_source = KernelSource::named(query.kernel_source);
  return context;
}

// Engines mean something to the learned method only, and only those it has seen.
// torch._scaled_mm takes operands that another kernel cast; engines' rows are of both together.
std::string hint_for_pytorch(const Kernel& kernel) {
  if (!kernel.shape.is<Gemm>() || kernel.format.math != DType::fp8 || kernel.format.quantise == Quantise::none)
    return "";
  return "torch._scaled_mm multiplies operands that were cast before: dtype fp8_static; what casts them is `kernel "
         "quantize`";
}

Status check_engine(const KernelQuery& query, const Kernel& kernel, const FamilyModel* model) {
  if (query.engine.empty() && query.kernel_source.empty()) return Ok{};
  if (query.engine.empty())
    return field_error("kernel-source", "has no effect without engine", "say whose kernel it is, for example vllm");
  // Scans have kinds that no table holds, and plans that depend on whose they are.
  if (!model && query.method == Method::tilecast && kernel.shape.is<Scan>() && !query.engine.empty()) return Ok{};
  const std::string cast_apart = query.engine == "pytorch" ? hint_for_pytorch(kernel) : "";
  if (!model)
    return field_error("engine", "has no effect: nothing was learned of this kernel",
                       cast_apart.empty() ? "leave it out" : cast_apart);
  const std::vector<std::string> engines = engines_of(*model);
  if (std::find(engines.begin(), engines.end(), query.engine) == engines.end())
    return field_error("engine", "no row of '" + query.engine + "' was trained on",
                       cast_apart.empty() ? "this kernel's engines: " + join(engines, ", ") : cast_apart);
  return Ok{};
}

// A query with everything it names in hand.
struct Asked {
  Kernel kernel;
  Context context;
  const Gpu* gpu = nullptr;
  const ModelSource* models = nullptr;
  const FamilyModel* model = nullptr;      // null: nothing learned
  const TrainedMethod* trained = nullptr;  // of the papers' methods
};

Status find_models(Asked& asked, const KernelQuery& query, LookedUp& known) {
  if (needs_weights(query.method)) {
    const auto trained = known.trained(query.method, query.weights);
    if (!trained) return trained.error();
    asked.trained = *trained;
  }
  const auto given = needs_weights(query.method) ? nullptr : known.weights(query.weights);
  if (!given) return given.error();
  asked.models = *given ? static_cast<const ModelSource*>(*given) : &shipped_models();
  if (query.method == Method::tilecast) asked.model = asked.models->find(asked.kernel, *asked.gpu);
  if (!query.weights.empty() && !asked.model && !asked.trained)
    return Error{query.weights, "",
                 "knows nothing of " + model_key(asked.kernel) + " under method " + std::string(name_of(query.method)),
                 "leave the weights out for the analytic forecast"};
  return check_engine(query, asked.kernel, asked.model);
}

// The kernel that the engine chooses on the card, where the query names none (engine/attention_kernel.h). Models choose
// the same one.
Result<Context> chosen_context(const KernelQuery& query, const Kernel& kernel, const Gpu& gpu, Context context) {
  if (is_attention(kernel.shape))
    context.kernel_source =
        attention_source_named(context.kernel_source, context.engine, kernel.shape.is<AttentionDecode>());
  if (auto fine = check_source(context.kernel_source, gpu); !fine) return std::move(fine).error();
  if (context.engine == Launcher::trtllm && gpu.vendor != Vendor::nvidia)
    return field_error("engine", "TensorRT-LLM runs on NVIDIA's cards, and " + gpu.name + " is not one",
                       "vllm or sglang");
  const bool pytorch = context.engine == Launcher::pytorch;
  if (!query.torch.empty() && !pytorch) return field_error("torch", "is for engine pytorch", "leave it out");
  const auto torch = query.torch.empty() ? PyTorchVersion{} : torch_from(query.torch);
  if (!torch) return torch.error();
  context.torch = torch_release(torch->major, torch->minor);
  if (context.engine.empty() || !context.kernel_source.empty() || !is_attention(kernel.shape)) return context;
  if (const AttentionForm form = form_of(algorithm_of(kernel.shape)); form != AttentionForm::fused) {
    if (!query.torch.empty()) return field_error("torch", "has no effect beside algorithm", "leave one of them out");
    if (pytorch) context.kernel_source = source_of(form);
    return context;
  }
  if (pytorch && torch_attention(gpu, kernel.shape, kernel.format, *torch) == AttentionForm::math)
    return field_error(
        "dtype",
        fmt::format("PyTorch has no fused attention for {} and these heads on {}: it runs plain products",
                    kernel.format.name, gpu.name),
        "fp16 or fp32, or ask for a model's step with attention math");
  context.kernel_source = attention_source_on(gpu, kernel.shape, context.engine, kernel.format, *torch);
  return context;
}

Result<Asked> asked_by(const KernelQuery& query, LookedUp& known) {
  Asked asked;
  auto context = context_of(query);
  if (!context) return std::move(context).error();
  asked.context = *context;
  auto format = format_from(query.dtype);
  if (!format) return std::move(format).error();
  auto shape = shape_from(query.family, query.dims);
  if (!shape) return std::move(shape).error();
  asked.kernel = {*std::move(shape), *format};
  const auto gpu = known.gpu(query.gpu);
  if (!gpu) return gpu.error();
  asked.gpu = *gpu;
  auto chosen = chosen_context(query, asked.kernel, *asked.gpu, asked.context);
  if (!chosen) return std::move(chosen).error();
  asked.context = *chosen;
  if (auto fine = find_models(asked, query, known); !fine) return fine.error();
  return asked;
}

Work work_of(const Demand& d) { return {d.tensor, d.vector, d.xu, d.shared, d.l2_load, d.l2_store}; }

std::string_view words_for(Dispatch dispatch) {
  switch (dispatch) {
    case Dispatch::waves: return "hardware waves";
    case Dispatch::persistent: return "persistent CTAs";
    case Dispatch::longest_first: return "longest first";
  }
  return "";
}

std::optional<LaunchForecast::Roofline> roofline_of(const Launch& launch, const LaunchEstimate& e, const Gpu& gpu) {
  const bool tensor = launch.math.pipe == Pipe::tensor && in_ops(launch.required.tensor) > 0;
  const Ops work = tensor ? launch.required.tensor : launch.required.vector;
  LaunchForecast::Roofline r;
  r.peak = tensor ? ops(launch.math.ops_per_clock * gpu.sms) * gpu.clock.max
                  : gpu.vector_peak(launch.vector_type, gpu.clock.max);
  // The level that feeds it: DRAM where bytes come from there, otherwise L2.
  r.from_dram = e.traffic.total() > bytes(0) && e.achieved[static_cast<std::size_t>(Resource::dram)] >=
                                                    e.achieved[static_cast<std::size_t>(Resource::l2)];
  const Demand total = launch.total();
  const Bytes moved = r.from_dram ? e.traffic.total() : total.l2_load + total.l2_store;
  r.feed = r.from_dram ? gpu.dram.bandwidth : gpu.l2_peak(gpu.clock.max);
  if (work <= ops(0) || moved <= bytes(0) || e.latency <= seconds(0) || r.peak.base() <= 0) return std::nullopt;
  r.intensity = in_ops(work) / in_bytes(moved);
  r.reached = work / e.latency;
  return r;
}

LaunchForecast launch_of(const Launch& launch, const LaunchEstimate& e, const Gpu& gpu) {
  LaunchForecast f;
  f.name = launch.name;
  f.latency = e.latency, f.bound = e.bound, f.limited_by = e.limited_by;
  f.tile = {launch.tile.m, launch.tile.n, launch.tile.k};
  f.split = launch.split, f.ctas = launch.ctas, f.threads = launch.cta.threads, f.plan_known = launch.plan_known;
  f.dispatch = words_for(launch.dispatch);
  f.ctas_per_sm = e.load.occupancy, f.waves = e.load.waves, f.sms_used = e.load.sms_used;
  f.tasks_busiest = e.load.tasks_busiest, f.balance = e.load.balance;
  f.total = work_of(launch.total()), f.busiest_sm = work_of(e.load.busiest);
  f.dram_load = e.traffic.load, f.dram_store = e.traffic.store;
  f.at_peak = e.at_peak, f.as_forecast = e.achieved;
  f.roofline = roofline_of(launch, e, gpu);
  return f;
}

std::vector<std::string> notes_on(const Kernel& kernel, const Gpu& gpu, const Context& asked, const Priced& priced) {
  std::vector<std::string> notes;
  const Context& ran = priced.ran_as;
  if (priced.guessed)
    notes.push_back(
        fmt::format("'{}' was never measured: {} of {} stands in for it, the likeliest by engine, card and "
                    "format, with the interval of a kernel that is not known",
                    asked.kernel_source.text(), ran.kernel_source.text(), ran.engine.text()));
  if (widens_to_fp32(kernel.format, gpu))
    notes.push_back(
        fmt::format("{} has no pipe that multiplies {} into fp32: its libraries widen the operands and "
                    "multiply in fp32",
                    gpu.name, name_of(kernel.format.math)));
  return notes;
}

KernelForecast answer_of(const Kernel& kernel, const Gpu& gpu, const Plan& plan, const Estimate& e) {
  KernelForecast f;
  f.gpu = gpu.name, f.sms = gpu.sms;
  f.family = family_of(kernel.shape), f.dims = dims_of(kernel.shape), f.dtype = kernel.format.name;
  f.method = e.method, f.latency = e.latency, f.interval = e.interval, f.bound = e.bound, f.ceiling = e.ceiling;
  f.efficiency = e.efficiency, f.limited_by = e.limited_by, f.seen = e.seen;
  for (std::size_t i = 0; i < plan.launches.size(); ++i)
    f.launches.push_back(launch_of(plan.launches[i], e.launches[i], gpu));
  return f;
}

Result<KernelForecast> forecast_with(const KernelQuery& query, LookedUp& known) {
  const auto asked = asked_by(query, known);
  if (!asked) return asked.error();
  auto priced = price(asked->kernel, *asked->gpu, asked->context, query.method, asked->models);
  if (!priced) return std::move(priced).error();
  if (asked->trained) {
    auto own = method_estimate(*asked->trained, asked->kernel, priced->plan, *asked->gpu, asked->context);
    if (!own) return std::move(own).error();
    priced->estimate = *std::move(own);
  }
  KernelForecast answer = answer_of(asked->kernel, *asked->gpu, priced->plan, priced->estimate);
  answer.notes = notes_on(asked->kernel, *asked->gpu, asked->context, *priced);
  return answer;
}

}  // namespace

Result<KernelForecast> forecast(const KernelQuery& query) {
  LookedUp known;
  return forecast_with(query, known);
}

std::vector<Result<KernelForecast>> forecast(std::span<const KernelQuery> queries) {
  return answer_each<LookedUp>(queries,
                               [](const KernelQuery& query, LookedUp& known) { return forecast_with(query, known); });
}

namespace {

// Rows of a batch that are planned before the forests see them together.
constexpr std::size_t kBlock = 256;

// What a batch needs of its model, looked up once.
struct BatchMethod {
  Context context;
  Physics physics;
  std::optional<Standing> standing;  // absent: the analytic forecast stands
};

Result<Seconds> time_of_row(const Asked& asked, const Kernel& kernel, const BatchMethod& how, Method method,
                            LearnedInput& input) {
  const auto planned = plan(kernel, *asked.gpu, how.context);
  if (!planned) return planned.error();
  const Estimate e = estimate(*planned, *asked.gpu, how.context, how.standing ? Method::analytic : method, how.physics);
  if (how.standing) input = learned_input(kernel, *planned, e, *asked.gpu, how.context);
  return e.latency;
}

// The first row, with its columns' values among the query's own dims: it is looked up and checked as any query is.
KernelQuery first_row(const KernelQuery& common, std::span<const DimColumn> columns) {
  KernelQuery first = common;
  for (const DimColumn& column : columns) first.dims.emplace_back(column.name, std::to_string(column.values.front()));
  return first;
}

Error in_row(Error problem, std::size_t row) {
  problem.place = "row " + std::to_string(row);
  return problem;
}

}  // namespace

Status forecast_times(const KernelQuery& common, std::span<const DimColumn> columns, std::span<Seconds> out) {
  for (const DimColumn& column : columns)
    if (column.values.size() != out.size())
      return field_error(
          column.name,
          "has " + std::to_string(column.values.size()) + " values for " + std::to_string(out.size()) + " rows",
          "one value for each row");
  if (out.empty()) return Ok{};
  if (needs_weights(common.method)) return field_error("method", "has no batch form", "tilecast, analytic or roofline");
  LookedUp known;
  const auto given = context_of(common);
  if (!given) return given.error();
  auto asked = asked_by(first_row(common, columns), known);
  if (!asked) return std::move(asked).error();
  std::vector<std::string> names;
  for (const DimColumn& column : columns) names.push_back(column.name);
  auto shapes = ShapeColumns::make(asked->kernel.shape, names);
  if (!shapes) return std::move(shapes).error();
  BatchMethod how{asked->context, default_physics(*asked->gpu), {}};
  if (asked->model) {
    how.context = stand_in(*asked->model, asked->context, *asked->gpu, &asked->kernel.shape);
    how.standing = standing_of(*asked->model, how.context, *asked->gpu);
  }
  std::vector<LearnedInput> inputs(how.standing ? std::min(kBlock, out.size()) : 1);
  std::vector<Count> values(columns.size());
  Kernel kernel = asked->kernel;
  for (std::size_t start = 0; start < out.size(); start += kBlock) {
    const std::size_t rows = std::min(kBlock, out.size() - start);
    std::vector<Seconds> alone_times;  // of a format that fp32's kernel runs: all rows of the block, or none
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t c = 0; c < columns.size(); ++c) values[c] = columns[c].values[start + i];
      const auto shape = shapes->with(values);
      if (!shape) return in_row(shape.error(), start + i);
      kernel.shape = **shape;
      const auto chosen = chosen_context(common, kernel, *asked->gpu, *given);
      if (!chosen) return in_row(chosen.error(), start + i);
      if (asked->model && widens_to_fp32(kernel.format, *asked->gpu)) {  // two plans a row (estimate/price.cpp)
        const auto alone = price(kernel, *asked->gpu, *chosen, common.method, asked->models, Wanted::time);
        if (!alone) return in_row(alone.error(), start + i);
        alone_times.push_back(alone->estimate.latency);
      }
      if (chosen->kernel_source != asked->context.kernel_source)
        return in_row(field_error(names.front(), "makes the engine choose another kernel than in row 0",
                                  "ask for these rows apart, or name a kernel-source"),
                      start + i);
      const auto time = time_of_row(*asked, kernel, how, common.method, inputs[how.standing ? i : 0]);
      if (!time) return in_row(time.error(), start + i);
      out[start + i] = *time;
    }
    if (how.standing)
      learned_times(std::span<const LearnedInput>(inputs).first(rows), *how.standing, out.subspan(start, rows));
    std::copy(alone_times.begin(), alone_times.end(), out.begin() + static_cast<std::ptrdiff_t>(start));
  }
  if (how.standing && common.run == RunLength::sustained) {  // no faster than the burst it begins with (price.cpp)
    KernelQuery begun = common;
    begun.run = RunLength::burst;
    std::vector<Seconds> burst(out.size());
    if (auto fine = forecast_times(begun, columns, burst); !fine) return fine;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(out[i], burst[i]);
  }
  return Ok{};
}

const std::vector<KernelFamily>& kernel_families() {
  static const std::vector<KernelFamily> all = [] {
    std::vector<KernelFamily> list;
    for (const Family& family : families()) {
      KernelFamily one{
          std::string(family.info.name), std::string(family.info.summary), std::string(family.info.example), {}};
      for (const FieldInfo& field : family.fields) {
        Argument dim{.name = field.name, .help = field.help};
        if (field.kind == "count") dim.kind = ArgumentKind::count, dim.least = 0;
        else if (field.kind == "number") dim.kind = ArgumentKind::number, dim.least = 0;
        else if (field.kind == "yes/no") dim.kind = ArgumentKind::yes_no;
        else if (field.kind == "list") dim.kind = ArgumentKind::counts;
        else dim.kind = ArgumentKind::choice, dim.choices = split(field.kind, '|');
        dim.required = field.need == Need::required;
        one.dims.push_back(std::move(dim));
      }
      list.push_back(std::move(one));
    }
    return list;
  }();
  return all;
}

const Question& kernel_question() {
  static const Question question{
      "kernel",
      "forecast one kernel on one or more GPUs",
      {"kernel gemm --m 4096 --n 4096 --k 4096 --gpu A100-SXM-80GB,H100-SXM,B200 --explain"}};
  return question;
}

std::vector<BoundArgument> arguments_of(KernelQuery& q) {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  Declare list;
  list.add(q.gpu, {.name = "gpu",
                   .help = "GPU name or description file",
                   .example = "H100-SXM",
                   .required = true,
                   .touches = Touches::gpu});
  list.add(q.dtype, {.name = "dtype", .help = "number format", .example = "fp8", .choices = names});
  list.add(
      q.method,
      {.name = "method",
       .help = "forecasting method; analytic leaves out everything learned, neusight and synperf are published ones",
       .example = "analytic"});
  list.add(q.runtime, {.name = "runtime", .help = "how kernels are launched", .example = "eager"});
  list.add(
      q.warmth,
      {.name = "warmth", .help = "what the caches hold; model: weights cold, activations warm", .example = "cold"});
  list.add(q.run, {.name = "run",
                   .help = "for how long: a burst of milliseconds, or sustained, as in models",
                   .example = "sustained"});
  list.add(q.data,
           {.name = "data", .help = "what the operands hold, which changes the power they take", .example = "zeros"});
  list.add(q.weight_copies, {.name = "weight-copies",
                             .help = "copies of the weights that a warm benchmark cycles through",
                             .example = "6",
                             .least = 1,
                             .most = 1e6});
  list.add(q.weights, weights_argument());
  list.add(q.engine, {.name = "engine", .help = "who launches it: vllm, sglang, trtllm or pytorch", .example = "vllm"});
  list.add(q.kernel_source,
           {.name = "kernel-source", .help = "with engine: which of its kernels", .example = "vllm_flash_attn_fa3"});
  list.add(q.torch, {.name = "torch",
                     .help = "with engine pytorch: its release (default 2.11), which chooses whose attention runs and "
                             "how its own kernels are launched",
                     .example = "2.6"});
  return list.take();
}

}  // namespace tilecast
