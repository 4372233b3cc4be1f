#include "cli/kernel_command.h"

#include <fmt/format.h>

#include "cli/table.h"
#include "cli/units_text.h"
#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "learn/method.h"
#include "support/text.h"

namespace tilecast {
namespace {

Result<Context> context_from(const KernelOptions& options) {
  Context context;
  if (options.runtime == "graph") context.runtime = Runtime::graph;
  else if (options.runtime == "eager") context.runtime = Runtime::eager;
  else return Error{"--runtime", "", "must be graph or eager, not '" + options.runtime + "'", ""};
  if (options.warmth == "model") context.warmth = Warmth::model;
  else if (options.warmth == "warm") context.warmth = Warmth::warm;
  else if (options.warmth == "cold") context.warmth = Warmth::cold;
  else return Error{"--warmth", "", "must be model, warm or cold, not '" + options.warmth + "'", ""};
  if (options.weight_copies < 1 || options.weight_copies > 1000000)
    return Error{"--weight-copies", "", "must lie between 1 and 1000000", ""};
  context.weight_copies = static_cast<int>(options.weight_copies);
  context.engine = options.engine;
  context.kernel_source = options.kernel_source;
  return context;
}

std::string_view describe(Warmth warmth) {
  switch (warmth) {
    case Warmth::model: return "weights cold, activations warm";
    case Warmth::warm: return "buffers reused";
    case Warmth::cold: return "caches cold";
  }
  return "";
}

}  // namespace

namespace {

// Engines mean something to the learned method only, and only those it has seen.
Status check_engine(const KernelOptions& options, const FamilyModel* model) {
  if (options.engine.empty() && options.kernel_source.empty()) return Ok{};
  if (!model) return Error{"--engine", "", "has no meaning here: nothing was learned of this kernel", "leave it out"};
  const std::vector<std::string> engines = engines_of(*model);
  if (std::find(engines.begin(), engines.end(), options.engine) == engines.end())
    return Error{"--engine", "", "no row of '" + options.engine + "' was trained on",
                 "this kernel's engines: " + join(engines, ", ")};
  return Ok{};
}

}  // namespace

Result<std::vector<KernelForecast>> forecast_kernel(const KernelOptions& options) {
  const auto method = method_from(options.method);
  if (!method) return method.error();
  auto context = context_from(options);
  if (!context) return std::move(context).error();
  auto format = format_from(options.dtype);
  if (!format) return Error{"--dtype", "", format.error().problem, format.error().remedy};
  auto shape = shape_from(options.family, options.dims);
  if (!shape) {
    Error failure = std::move(shape).error();
    if (!failure.field.empty()) failure.field = "--" + failure.field;
    return failure;
  }
  if (options.gpus.empty()) return Error{"--gpu", "", "is missing", "for example --gpu H100-SXM,B200"};
  std::optional<Weights> given;
  std::unique_ptr<TrainedMethod> trained;
  if (needs_weights(*method)) {
    auto loaded = load_method(*method, options.weights);
    if (!loaded) return std::move(loaded).error();
    trained = *std::move(loaded);
  } else if (!options.weights.empty()) {
    auto loaded = load_weights(options.weights);
    if (!loaded) return std::move(loaded).error();
    given = *std::move(loaded);
  }
  const FamilyModel* model = nullptr;
  const ModelSource& models = given ? static_cast<const ModelSource&>(*given) : shipped_models();
  if (*method == Method::tilecast) model = models.find(Kernel{*shape, *format});
  if (!options.weights.empty() && !model && !trained)
    return Error{options.weights, "",
                 "knows nothing of " + model_key({*shape, *format}) + " under method " + options.method,
                 "leave --weights out for the analytic forecast"};
  if (auto known = check_engine(options, model); !known) return std::move(known).error();
  std::vector<KernelForecast> forecasts;
  for (const std::string& name : options.gpus) {
    auto gpu = load_gpu(name);
    if (!gpu) return std::move(gpu).error();
    const Kernel kernel{*shape, *format};
    auto priced = price(kernel, *gpu, *context, *method, &models);
    if (!priced) return std::move(priced).error();
    auto& [planned, e] = *priced;
    if (trained) {
      auto own = method_estimate(*trained, kernel, planned, *gpu, *context);
      if (!own) return std::move(own).error();
      e = *std::move(own);
    }
    forecasts.push_back({*std::move(gpu), kernel, *context, std::move(planned), std::move(e)});
  }
  return forecasts;
}

std::string forecast_table(const std::vector<KernelForecast>& forecasts) {
  const KernelForecast& first = forecasts.front();
  std::string dims = dims_text(first.kernel.shape);
  for (char& c : dims)
    if (c == ';') c = ' ';
  std::string out = fmt::format("{} {}, {}, {}, {}\n\n", family_of(first.kernel.shape), dims, first.kernel.format.name,
                                describe(first.context.warmth),
                                first.context.runtime == Runtime::graph ? "CUDA graph" : "eager launch");
  Table table({{"GPU", Align::left},
               {"forecast"},
               {"80 % interval"},
               {"bound"},
               {"efficiency"},
               {"limited by", Align::left},
               {"speed"},
               {"seen", Align::left}});
  for (const KernelForecast& f : forecasts) {
    const Estimate& e = f.estimate;
    table.add({f.gpu.name, text_of(e.latency), text_of(e.interval.low) + " – " + text_of(e.interval.high),
               text_of(e.bound), percent(e.efficiency), std::string(name_of(e.limited_by)),
               three_digits(first.estimate.latency / e.latency) + "×", std::string(name_of(e.seen))});
  }
  return out + table.text();
}

Result<std::string> run_kernel(const KernelOptions& options) {
  auto forecasts = forecast_kernel(options);
  if (!forecasts) return std::move(forecasts).error();
  if (options.json) return forecast_json(*forecasts);
  std::string out = forecast_table(*forecasts);
  if (options.explain)
    for (const KernelForecast& f : *forecasts) out += "\n" + explain_text(f);
  else out += "\n--explain shows why; --json is for programs.\n";
  return out;
}

}  // namespace tilecast
