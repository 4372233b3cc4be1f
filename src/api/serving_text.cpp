#include "api/serving_text.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "api/common_arguments.h"
#include "support/amount.h"
#include "support/number.h"
#include "support/range.h"
#include "support/text.h"

namespace tilecast {

// With its unit: engines' own flags count milliseconds, a person may mean seconds.
std::optional<Seconds> duration_from(std::string_view text) {
  double unit = 1;
  if (text.ends_with("ms")) unit = 1e-3, text.remove_suffix(2);
  else if (text.ends_with("us")) unit = 1e-6, text.remove_suffix(2);
  else if (text.ends_with("s")) text.remove_suffix(1);
  else return std::nullopt;
  const auto value = finite_number(text);
  constexpr double kLeast = 1e-9, kMost = 1e9;  // a nanosecond to thirty years: no objective lies outside
  if (!value || !(*value * unit >= kLeast) || !(*value * unit <= kMost)) return std::nullopt;
  return seconds(*value * unit);
}

namespace {

// "1..32" or "1,2,5"; nothing where it is neither.
// A range that does not say its steps: elsewhere it counts, in sweeps it once doubled.
bool says_no_steps(std::string_view values) {
  for (const std::string& part : split(std::string(values), ','))
    if (const auto dots = part.find("..");
        dots != std::string::npos && part.find_first_of(":*x", dots) == std::string::npos)
      return true;
  return false;
}

}  // namespace

Result<Slo> slo_from(const std::string& text) {
  Slo slo;
  if (text.empty()) return slo;
  for (const std::string& part : split(text, ',')) {
    const auto equals = part.find('=');
    const auto time =
        equals == std::string::npos ? std::nullopt : duration_from(std::string_view(part).substr(equals + 1));
    const std::string name = part.substr(0, equals);
    const bool known = name == "ttft" || name == "tpot" || name == "e2el";
    if (known && equals != std::string::npos && finite_number(std::string_view(part).substr(equals + 1)))
      return field_error("slo", fmt::format("'{}' has no unit", part), fmt::format("{0}ms or {0}s", part));
    if (!time || !known)
      return field_error("slo", "'" + part + "' is not an objective", "ttft=500ms,tpot=30ms,e2el=10s");
    std::optional<Seconds>& objective = name == "ttft" ? slo.ttft : name == "tpot" ? slo.tpot : slo.e2el;
    if (objective) return field_error("slo", "'" + name + "' is there twice", "one time for each objective");
    objective = *time;
  }
  return slo;
}

Result<Sweep> sweep_from(const std::string& text) {
  constexpr std::size_t kMostLoads = 64;
  constexpr double kMostConcurrency = 1 << 30;
  const auto bad = [&] {
    return field_error("sweep", "'" + text + "' is not a sweep",
                       "rate=1..32*2 (doubling), rate=1,2,5 or concurrency=16..256:16");
  };
  const auto equals = text.find('=');
  if (equals == std::string::npos) return bad();
  const std::string name = text.substr(0, equals);
  if (name != "rate" && name != "concurrency") return bad();
  const std::string given = text.substr(equals + 1);
  if (says_no_steps(given))
    return field_error("sweep", "'" + text + "' does not say its steps",
                       fmt::format("{0}*2 doubles, {0}:1 counts", text));
  auto values = range_values(given, RangeOf::numbers);
  if (!values || values->empty() || values->size() > kMostLoads) return bad();
  Sweep sweep{name == "rate", *std::move(values)};
  for (const double v : sweep.values)
    if (!(v >= kLeastRate) || !(v <= kMostRate)) return bad();
  if (sweep.of_rate) return sweep;
  for (double& v : sweep.values) {
    if (v < 1 || v > kMostConcurrency) return bad();
    v = std::round(v);
  }
  return sweep;
}

Result<WorkloadOptions> workload_from(const LoadQuery& load, Count requests, double burstiness) {
  WorkloadOptions w;
  w.requests = requests, w.rate = load.rate.value_or(0), w.burstiness = burstiness;
  w.prefixes = load.prefixes, w.prefix_tokens = load.prefix_tokens;
  w.seed = static_cast<std::uint64_t>(load.seed);
  const auto input = lengths_from(load.input, "input"), output = lengths_from(load.output, "output");
  if (!input) return input.error();
  if (!output) return output.error();
  w.input = *input, w.output = *output;
  if (auto fine = check(w); !fine) return fine.error();
  if (w.prefixes > 0 && w.prefix_tokens > w.input.mean)
    return field_error(
        "prefix-tokens",
        fmt::format("{} are more than a prompt's {}: input counts the prefix (other than with vllm bench, "
                    "which adds the two)",
                    w.prefix_tokens, w.input.mean),
        fmt::format("input {}", w.prefix_tokens + w.input.mean));
  return w;
}

void declare_load(Declare& list, LoadQuery& load) {
  constexpr double kMostTokens = 1 << 30, kMostSeed = 9007199254740992.0;  // what a double still counts
  list.add(load.input, {.name = "input",
                        .help = "tokens per prompt: 1024, uniform:1024:0.5 or lognormal:1024:0.8",
                        .example = "1024",
                        .scopes = {kNoTrace}});
  list.add(load.output, {.name = "output",
                         .help = "tokens per answer, likewise; with a trace: of those it gives no length",
                         .example = "256"});
  list.add(load.prefixes, {.name = "prefixes",
                           .help = "number of different prefixes that prompts share",
                           .example = "4",
                           .least = 0,
                           .most = kMostTokens,
                           .scopes = {kNoTrace}});
  list.add(load.prefix_tokens, {.name = "prefix-tokens",
                                .help = "length of a shared prefix",
                                .unit = "tokens",
                                .example = "512",
                                .least = 0,
                                .most = kMostTokens,
                                .scopes = {kNoTrace, {"prefixes"}}});
  list.add(
      load.seed,
      {.name = "seed", .help = "the same seed gives the same result", .example = "1", .least = 0, .most = kMostSeed});
}

void declare_context_limit(Declare& list, std::optional<Count>& limit) {
  list.add(limit, {.name = "max-model-len",
                   .help = "longest prompt and answer (default: the model's)",
                   .unit = "tokens",
                   .example = "8192",
                   .least = 1,
                   .most = kMostCount});
}

void declare_served_model(Declare& list, std::string& model) {
  list.add(model, {.name = "model",
                   .help = "a model's name (`tilecast models`), a Hugging Face config.json or its folder",
                   .example = "Llama-3.1-8B",
                   .required = true,
                   .positional = true,
                   .touches = Touches::model});
}

void declare_method(Declare& list, Method& method, std::string& weights) {
  list.add(method, {.name = "method",
                    .help = "how steps are forecast; analytic: nothing learned",
                    .example = "analytic",
                    .choices = {"tilecast", "analytic", "roofline"}});
  list.add(weights, weights_argument());
}

EngineKind kind_of(ServingEngine engine) {
  switch (engine) {
    case ServingEngine::vllm: return EngineKind::vllm;
    case ServingEngine::sglang: return EngineKind::sglang;
    case ServingEngine::trtllm: return EngineKind::trtllm;
  }
  return EngineKind::vllm;
}

ServingEngine serving_engine_of(EngineKind kind) {
  return kind == EngineKind::sglang   ? ServingEngine::sglang
         : kind == EngineKind::trtllm ? ServingEngine::trtllm
                                      : ServingEngine::vllm;
}

Count step_tokens(const SchedulerLimits& limits) {
  return limits.policy == Policy::sglang && limits.chunk > 0 ? limits.chunk : limits.max_tokens;
}

}  // namespace tilecast
