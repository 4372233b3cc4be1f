#include "tilecast/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <span>

#include "api/declare.h"
#include "gpu/registry.h"
#include "kernel/moe.h"
#include "tune/engine_file.h"
#include "tune/measure.h"
#include "tune/rank.h"

namespace tilecast {
namespace {

// The tokens that benchmark_moe.py of vLLM tunes for by default.
constexpr std::array<Count, 18> kEngineTokens = {1,  2,   4,   8,   16,   24,   32,   48,   64,
                                                 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096};

struct Setting {
  Gpu gpu;
  Format format;
  std::vector<TritonConfig> configs;
  std::size_t top = 0;
};

template <class Query>
Result<Setting> setting_of(const Query& query, const Measuring& measuring) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  if (auto fine = check_arguments(measuring); !fine) return std::move(fine).error();
  if (auto fine = check_scopes(measuring); !fine) return std::move(fine).error();
  auto gpu = load_gpu(query.gpu);
  if (!gpu) return in_field(std::move(gpu).error(), "gpu");
  const auto format = format_from(query.dtype);
  if (!format) return in_field(format.error(), "dtype");
  Setting setting{*std::move(gpu), *format, {}, static_cast<std::size_t>(query.top)};
  setting.configs = triton_configs(setting.format, setting.gpu);
  return setting;
}

TuneCandidate candidate_of(const RankedConfig& ranked) {
  TuneCandidate one{ranked.config, ranked.forecast, {}, {}, {}};
  for (const TritonCost& cost : ranked.passes)
    one.passes.push_back({cost.total, std::string(cost.limit), cost.ctas, cost.rounds, cost.ctas_per_sm});
  return one;
}

Tuned tuned_of(Count tokens, std::span<const RankedConfig> ranked, std::size_t top) {
  Tuned tuned;
  tuned.tokens = tokens;
  for (const RankedConfig& one : distinct_best(ranked, top)) tuned.best.push_back(candidate_of(one));
  return tuned;
}

std::vector<TritonConfig> asked_of(const Tuned& tuned) {
  std::vector<TritonConfig> asked;
  for (const TuneCandidate& one : tuned.best) asked.push_back(one.config);
  if (tuned.standard && std::find(asked.begin(), asked.end(), tuned.standard->config) == asked.end())
    asked.push_back(tuned.standard->config);
  return asked;
}

// Times the candidates and the default, and orders by what came back. A command that fails leaves the forecast's order.
template <class Shape>
void measure(Tuned& tuned, const Measuring& measuring, const Shape& shape) {
  const std::vector<TritonConfig> asked = asked_of(tuned);
  const auto output = output_of(measure_command(measuring.command, shape, asked),
                                std::chrono::milliseconds(std::llround(1e3 * measuring.seconds)));
  if (!output) {
    tuned.note = output.error().line();
    return;
  }
  const MeasuredConfigs found = read_measured(*output, asked);
  const auto keep = [&](TuneCandidate& one) {
    const MeasuredConfig& measured = found.at(one.config);
    one.measured = measured.time;
    one.problem = measured.problem;
  };
  for (TuneCandidate& one : tuned.best) keep(one);
  if (tuned.standard) keep(*tuned.standard);
  const auto timed = [](const TuneCandidate& one) { return one.measured.has_value(); };
  if (std::none_of(tuned.best.begin(), tuned.best.end(), timed))
    tuned.note = "no configuration was timed: " + tuned.best.front().problem;
  std::stable_sort(tuned.best.begin(), tuned.best.end(), [&](const TuneCandidate& a, const TuneCandidate& b) {
    if (timed(a) != timed(b)) return timed(a);
    return a.measured && *a.measured < *b.measured;
  });
}

void tell(const Measuring& measuring, std::size_t done, std::size_t all, const Tuned& tuned) {
  if (measuring.progress) measuring.progress({done, all, tuned.tokens, static_cast<Count>(asked_of(tuned).size())});
}

Result<Tuned> tune_tokens(const Moe& shape, const Setting& setting) {
  const auto ranked = rank_fused_moe(shape, setting.format, setting.gpu, setting.configs);
  if (!ranked) return ranked.error();
  Tuned tuned = tuned_of(shape.tokens, *ranked, setting.top);
  const TritonConfig standard = vllm_default(shape, setting.format, math_path(setting.format, setting.gpu)->input);
  if (const auto one = rank_fused_moe(shape, setting.format, setting.gpu, {&standard, 1}); one)
    tuned.standard = candidate_of(one->front());
  return tuned;
}

Moe moe_of(const MoeTuneQuery& query) {
  Moe shape;
  shape.experts = query.experts, shape.hidden = query.hidden, shape.inter = query.inter, shape.topk = query.topk;
  shape.tp = query.tp, shape.ep = query.ep;
  return shape;
}

std::vector<Count> tokens_of(const MoeTuneQuery& query) {
  std::vector<Count> tokens = query.tokens;
  if (tokens.empty()) tokens.assign(kEngineTokens.begin(), kEngineTokens.end());
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

// What both queries have.
template <class Query>
void declare_common(Declare& list, Query& q) {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  list.add(q.gpu, {.name = "gpu",
                   .help = "GPU name or description file",
                   .example = "H200-SXM",
                   .required = true,
                   .touches = Touches::gpu});
  list.add(q.dtype, {.name = "dtype", .help = "number format", .example = "fp8", .choices = names});
  list.add(q.top,
           {.name = "top", .help = "configurations to show, and to measure", .example = "10", .least = 1, .most = 100});
}

}  // namespace

Result<MoeTuning> tune(const MoeTuneQuery& query, const Measuring& measuring, const Watch& watch) {
  const auto setting = setting_of(query, measuring);
  if (!setting) return setting.error();
  const std::vector<Count> tokens = tokens_of(query);
  Moe shape = moe_of(query);
  MoeTuning tuning{setting->gpu.name, std::string(setting->format.name),           0, query.hidden, 0,
                   query.topk,        static_cast<Count>(setting->configs.size()), {}};
  for (const Count count : tokens) {
    if (!watch.go_on(static_cast<double>(tuning.tuned.size()) / static_cast<double>(tokens.size()))) return stopped();
    shape.tokens = count;
    auto tuned = tune_tokens(shape, *setting);
    if (!tuned) return std::move(tuned).error();
    if (!measuring.command.empty()) {
      tell(measuring, tuning.tuned.size(), tokens.size(), *tuned);
      measure(*tuned, measuring, shape);
    }
    tuning.tuned.push_back(*std::move(tuned));
  }
  const bool none =
      std::all_of(tuning.tuned.begin(), tuning.tuned.end(), [](const Tuned& t) { return !t.note.empty(); });
  if (!measuring.command.empty() && none) return error("nothing was measured: " + tuning.tuned.front().note);
  tuning.experts = shape.local_experts(), tuning.inter = shape.local_inter();
  return tuning;
}

Result<GemmTuning> tune(const GemmTuneQuery& query, const Measuring& measuring, const Watch& watch) {
  const auto setting = setting_of(query, measuring);
  if (!setting) return setting.error();
  if (!watch.go_on(0)) return stopped();
  const GemmProblem shape{1, query.m, query.n, query.k};
  const auto ranked = rank_gemm(shape, setting->format, setting->gpu, setting->configs);
  if (!ranked) return ranked.error();
  GemmTuning tuning{setting->gpu.name,
                    std::string(setting->format.name),
                    query.m,
                    query.n,
                    query.k,
                    static_cast<Count>(setting->configs.size()),
                    tuned_of(query.m, *ranked, setting->top)};
  if (measuring.command.empty()) return tuning;
  tell(measuring, 0, 1, tuning.tuned);
  measure(tuning.tuned, measuring, shape);
  if (!tuning.tuned.note.empty()) return error("nothing was measured: " + tuning.tuned.note);
  return tuning;
}

Result<std::vector<EngineFile>> engine_files(const MoeTuneQuery& query, const MoeTuning& tuning,
                                             const EngineFilesQuery& files) {
  const auto gpu = load_gpu(query.gpu);
  if (!gpu) return in_field(gpu.error(), "gpu");
  const auto format = format_from(query.dtype);
  if (!format) return in_field(format.error(), "dtype");
  const auto device = files.device_name.empty() ? device_name_of(*gpu) : Result<std::string>(files.device_name);
  if (!device) return device.error();
  const auto name = engine_file_name(tuning.experts, tuning.inter, *device, *format);
  if (!name) return name.error();
  const auto folder = triton_folder(files.triton);
  if (!folder) return folder.error();
  std::map<Count, TritonConfig> picks;
  for (const Tuned& tuned : tuning.tuned) picks[tuned.tokens] = tuned.pick().config;
  const std::string text = engine_file_text(picks);
  return std::vector<EngineFile>{{"vllm", name->vllm, text},
                                 {"sglang", "configs/" + *folder + "/" + name->sglang, text}};
}

const Question& tune_moe_question() {
  static const Question question{
      "tune fused-moe",
      "the fused-MoE kernel of vLLM and SGLang",
      {"tune fused-moe --gpu H200 --experts 128 --hidden 2048 --inter 768 --topk 8 -o tuned",
       "tune fused-moe --gpu H200 --tokens 64 --experts 128 --hidden 2048 --inter 768 --topk 8 --tp 2 \\\n"
       "      --measure 'python3 tools/tune/measure.py'"}};
  return question;
}

const Question& tune_gemm_question() {
  static const Question question{"tune gemm",
                                 "tiles of a plain product y[m,n] = x[m,k] w[k,n]",
                                 {"tune gemm --gpu H200 --m 256 --n 4096 --k 4096"}};
  return question;
}

std::vector<BoundArgument> arguments_of(MoeTuneQuery& q) {
  constexpr double kMost = 1 << 24;
  Declare list;
  declare_common(list, q);
  list.add(q.tokens, {.name = "tokens",
                      .help = "tokens of a step, before routing: 1,64,4096 (default: 18 counts up to 4096)",
                      .example = "1,64,4096",
                      .least = 1,
                      .most = kMost});
  list.add(q.experts, {.name = "experts",
                       .help = "experts of all ranks",
                       .example = "128",
                       .least = 1,
                       .most = kMost,
                       .required = true});
  list.add(
      q.hidden,
      {.name = "hidden", .help = "width of the model", .example = "2048", .least = 1, .most = kMost, .required = true});
  list.add(q.inter, {.name = "inter",
                     .help = "width of a whole expert",
                     .example = "768",
                     .least = 1,
                     .most = kMost,
                     .required = true});
  list.add(q.topk, {.name = "topk",
                    .help = "experts each token visits",
                    .example = "8",
                    .least = 1,
                    .most = kMost,
                    .required = true});
  list.add(q.tp,
           {.name = "tp", .help = "ranks that share an expert's width", .example = "2", .least = 1, .most = kMost});
  list.add(q.ep, {.name = "ep", .help = "ranks that share the experts", .example = "8", .least = 1, .most = kMost});
  return list.take();
}

std::vector<BoundArgument> arguments_of(GemmTuneQuery& q) {
  constexpr double kMost = 1 << 24;
  Declare list;
  declare_common(list, q);
  list.add(q.m, {.name = "m", .help = "rows", .example = "256", .least = 1, .most = kMost, .required = true});
  list.add(q.n, {.name = "n", .help = "columns", .example = "4096", .least = 1, .most = kMost, .required = true});
  list.add(q.k, {.name = "k", .help = "depth", .example = "4096", .least = 1, .most = kMost, .required = true});
  return list.take();
}

std::vector<BoundArgument> arguments_of(Measuring& m) {
  Declare list;
  list.add(m.command,
           {.name = "measure",
            .help = "time the best ones with this command, which gets the layer and the configurations (docs/tune.md)",
            .example = "python3 tools/tune/measure.py",
            .touches = Touches::command});
  list.add(m.seconds, {.name = "measure-seconds",
                       .help = "with measure: stop it after this long",
                       .unit = "s",
                       .example = "600",
                       .least = 0.01,
                       .most = 86400,
                       .scopes = {{"measure"}}});
  return list.take();
}

std::vector<BoundArgument> arguments_of(EngineFilesQuery& q) {
  Declare list;
  list.add(q.device_name, {.name = "device-name",
                           .help = "with output: the card's name as torch.cuda.get_device_name() says it",
                           .example = "NVIDIA H200"});
  list.add(
      q.triton,
      {.name = "triton", .help = "with output: Triton's version, by which SGLang keeps its files", .example = "3.6.0"});
  return list.take();
}

}  // namespace tilecast
