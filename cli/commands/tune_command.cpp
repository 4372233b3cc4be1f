#include "cli/commands/tune_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/terminal/units_text.h"
#include "gpu/registry.h"
#include "support/file.h"
#include "support/json.h"
#include "support/table.h"
#include "tune/engine_file.h"
#include "tune/measure.h"
#include "tune/rank.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

// The tokens that benchmark_moe.py of vLLM tunes for by default.
constexpr std::array<Count, 18> kEngineTokens = {1,  2,   4,   8,   16,   24,   32,   48,   64,
                                                 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096};

// One configuration of one number of tokens.
struct Candidate {
  RankedConfig ranked;
  std::optional<Seconds> measured;
  std::string problem;  // why it was not measured, where it should have been

  Seconds known() const { return measured.value_or(ranked.forecast); }
};

struct Tuned {
  Count tokens = 0;
  std::vector<Candidate> best;        // best first: by measurement where there is one, those that failed last
  std::optional<Candidate> standard;  // the engine's default
  std::string note;                   // why nothing was measured

  const Candidate& pick() const {
    const bool default_wins =
        standard && standard->measured && best.front().measured && *standard->measured < *best.front().measured;
    return default_wins ? *standard : best.front();
  }
};

struct Setting {
  Gpu gpu;
  Format format;
  std::vector<TritonConfig> configs;
};

Result<Setting> setting_of(const TuneOptions& o) {
  if (o.top < 1 || o.top > 100) return Error{"--top", "", "must lie between 1 and 100", ""};
  if (!(o.measure_seconds > 0 && o.measure_seconds <= 86400))
    return Error{"--measure-seconds", "", "must lie between 0 and 86400", ""};
  auto gpu = load_gpu(o.gpu);
  if (!gpu) return gpu.error();
  const auto format = format_from(o.dtype);
  if (!format) return Error(format.error()).at("--dtype");
  Setting setting{std::move(*gpu), *format, {}};
  setting.configs = triton_configs(setting.format, setting.gpu);
  return setting;
}

using CommandOf = std::function<std::string(std::span<const TritonConfig>)>;

// Times the candidates and the default, and orders by what came back. A command that fails leaves the forecast's order.
void measure(Tuned& tuned, const TuneOptions& o, const CommandOf& command_of) {
  std::vector<TritonConfig> asked;
  for (const Candidate& one : tuned.best) asked.push_back(one.ranked.config);
  if (tuned.standard && std::find(asked.begin(), asked.end(), tuned.standard->ranked.config) == asked.end())
    asked.push_back(tuned.standard->ranked.config);
  const auto output = output_of(command_of(asked), std::chrono::milliseconds(std::llround(1e3 * o.measure_seconds)));
  if (!output) {
    tuned.note = output.error().line();
    return;
  }
  const MeasuredConfigs found = read_measured(*output, asked);
  const auto keep = [&](Candidate& one) {
    const MeasuredConfig& measured = found.at(one.ranked.config);
    one.measured = measured.time;
    one.problem = measured.problem;
  };
  for (Candidate& one : tuned.best) keep(one);
  if (tuned.standard) keep(*tuned.standard);
  const bool any = std::any_of(tuned.best.begin(), tuned.best.end(), [](const Candidate& c) { return c.measured; });
  if (!any) tuned.note = "no configuration was timed: " + tuned.best.front().problem;
  std::stable_sort(tuned.best.begin(), tuned.best.end(), [](const Candidate& a, const Candidate& b) {
    if (a.measured.has_value() != b.measured.has_value()) return a.measured.has_value();
    return a.measured && *a.measured < *b.measured;
  });
}

Json config_json(const TritonConfig& config) {
  Json json = Json::object();
  const auto values = config.values();
  for (std::size_t i = 0; i < values.size(); ++i) json[std::string(kTritonConfigKeys[i])] = values[i];
  return json;
}

Json candidate_json(const Candidate& one) {
  Json json{{"config", config_json(one.ranked.config)}, {"forecast_us", in_microseconds(one.ranked.forecast)}};
  json["passes"] = Json::array();
  for (const TritonCost& pass : one.ranked.passes)
    json["passes"].push_back({{"us", in_microseconds(pass.total)},
                              {"limited_by", pass.limit},
                              {"ctas", pass.ctas},
                              {"ctas_per_sm", pass.ctas_per_sm},
                              {"rounds", pass.rounds}});
  if (one.measured) json["measured_us"] = in_microseconds(*one.measured);
  if (!one.problem.empty()) json["problem"] = one.problem;
  return json;
}

Json tuned_json(const Tuned& tuned) {
  Json json{{"tokens", tuned.tokens}, {"pick", config_json(tuned.pick().ranked.config)}};
  for (const Candidate& one : tuned.best) json["best"].push_back(candidate_json(one));
  if (tuned.standard) json["default"] = candidate_json(*tuned.standard);
  if (!tuned.note.empty()) json["note"] = tuned.note;
  return json;
}

std::vector<std::string> cells(const Candidate& one, const std::optional<Candidate>& standard, bool measured) {
  std::vector<std::string> row;
  for (const int value : one.ranked.config.values()) row.push_back(std::to_string(value));
  row.push_back(text_of(one.ranked.forecast));
  if (measured) row.push_back(one.measured ? text_of(*one.measured) : one.problem.empty() ? "-" : "failed");
  if (standard) {
    const bool both = one.measured && standard->measured;
    const double gain = both ? *standard->measured / *one.measured : standard->ranked.forecast / one.ranked.forecast;
    row.push_back(fmt::format("{:.2f}", gain));
  }
  std::string limits;
  for (const TritonCost& pass : one.ranked.passes) limits += (limits.empty() ? "" : ", ") + std::string(pass.limit);
  row.push_back(limits);
  return row;
}

// Of one number of tokens all candidates, of several the picks.
std::string table_of(const std::vector<Tuned>& all, std::string_view unit, bool measured) {
  const bool standard = all.front().standard.has_value();
  std::vector<Table::Column> columns = {{std::string(unit)}, {"M"},     {"N"},      {"K"},
                                        {"group"},           {"warps"}, {"stages"}, {"forecast"}};
  if (measured) columns.push_back({"measured"});
  if (standard) columns.push_back({"x default"});
  columns.push_back({"limited by", Align::left});
  Table table(std::move(columns));
  const auto add = [&](const Tuned& tuned, const Candidate& one, std::string first) {
    std::vector<std::string> row = cells(one, tuned.standard, measured);
    row.insert(row.begin(), std::move(first));
    table.add(std::move(row));
  };
  for (const Tuned& tuned : all) {
    if (all.size() > 1) {
      add(tuned, tuned.pick(), std::to_string(tuned.tokens));
      continue;
    }
    for (const Candidate& one : tuned.best) add(tuned, one, std::to_string(tuned.tokens));
    if (tuned.standard) add(tuned, *tuned.standard, "default");
  }
  std::string text = table.text();
  for (const Tuned& tuned : all)
    if (!tuned.note.empty()) text += fmt::format("{} {}: by forecast; {}\n", unit, tuned.tokens, tuned.note);
  return text;
}

std::vector<Candidate> candidates(std::span<const RankedConfig> ranked, int top) {
  std::vector<Candidate> found;
  for (RankedConfig& one : distinct_best(ranked, static_cast<std::size_t>(top)))
    found.push_back({std::move(one), std::nullopt, {}});
  return found;
}

Result<Tuned> tune_tokens(const TuneOptions& o, const Setting& setting, Moe shape) {
  auto ranked = rank_fused_moe(shape, setting.format, setting.gpu, setting.configs);
  if (!ranked) return ranked.error();
  Tuned tuned{shape.tokens, candidates(*ranked, o.top), std::nullopt, {}};
  const TritonConfig standard = vllm_default(shape, setting.format, math_path(setting.format, setting.gpu)->input);
  if (auto one = rank_fused_moe(shape, setting.format, setting.gpu, {&standard, 1}); one)
    tuned.standard = Candidate{one->front(), std::nullopt, {}};
  if (!o.measure.empty()) measure(tuned, o, [&](auto configs) { return measure_command(o.measure, shape, configs); });
  return tuned;
}

// Writes the picks where the engines look; the paths.
Result<std::vector<std::string>> write_files(const TuneOptions& o, const Setting& setting,
                                             const std::vector<Tuned>& all) {
  const auto device = o.device_name.empty() ? device_name_of(setting.gpu) : Result<std::string>(o.device_name);
  if (!device) return device.error();
  const auto name = engine_file_name(o.moe.local_experts(), o.moe.local_inter(), *device, setting.format);
  if (!name) return name.error();
  const auto folder = triton_folder(o.triton);
  if (!folder) return folder.error();
  std::map<Count, TritonConfig> picks;
  for (const Tuned& tuned : all) picks[tuned.tokens] = tuned.pick().ranked.config;
  const std::string text = engine_file_text(picks), sglang = o.out + "/configs/" + *folder;
  std::error_code failed;
  std::filesystem::create_directories(sglang, failed);
  if (failed) return Error{sglang, "", "cannot be made", failed.message()};
  std::vector<std::string> paths = {o.out + "/" + name->vllm, sglang + "/" + name->sglang};
  for (const std::string& path : paths)
    if (const Status written = write_text_file(path, text); !written) return written.error();
  return paths;
}

std::string where_to_put(const TuneOptions& o, const std::vector<std::string>& paths) {
  if (paths.empty()) return "-o DIR writes the picks as the files that vLLM and SGLang load.\n";
  return fmt::format(
      "vLLM:   {}\n        export VLLM_TUNED_CONFIG_FOLDER={}\nSGLang: {}\n        export "
      "SGLANG_MOE_CONFIG_DIR={}\n",
      paths[0], o.out, paths[1], o.out);
}

}  // namespace

Result<std::string> run_tune_fused_moe(const TuneOptions& o) {
  const auto setting = setting_of(o);
  if (!setting) return setting.error();
  std::vector<Count> tokens = o.tokens;
  if (tokens.empty()) tokens.assign(kEngineTokens.begin(), kEngineTokens.end());
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  std::vector<Tuned> all;
  for (const Count count : tokens) {
    if (!o.measure.empty())
      std::fprintf(stderr, "measuring %zu of %zu: %lld tokens\n", all.size() + 1, tokens.size(),
                   static_cast<long long>(count));
    Moe shape = o.moe;
    shape.tokens = count;
    auto tuned = tune_tokens(o, *setting, shape);
    if (!tuned) return tuned.error();
    all.push_back(std::move(*tuned));
  }
  const bool none = std::all_of(all.begin(), all.end(), [](const Tuned& t) { return !t.note.empty(); });
  if (!o.measure.empty() && none) return error("nothing was measured: " + all.front().note);
  std::vector<std::string> paths;
  if (!o.out.empty()) {
    auto written = write_files(o, *setting, all);
    if (!written) return written.error();
    paths = std::move(*written);
  }
  if (o.json) {
    Json json{{"gpu", setting->gpu.name},
              {"dtype", setting->format.name},
              {"experts", o.moe.local_experts()},
              {"hidden", o.moe.hidden},
              {"inter", o.moe.local_inter()},
              {"topk", o.moe.topk},
              {"configurations", setting->configs.size()},
              {"files", paths}};
    for (const Tuned& tuned : all) json["tuned"].push_back(tuned_json(tuned));
    return json_text(json);
  }
  return fmt::format(
             "Fused MoE on {}, {}: {} experts of {} x {} on this rank, {} a token; {} configurations can run\n\n",
             setting->gpu.name, setting->format.name, o.moe.local_experts(), o.moe.hidden, o.moe.local_inter(),
             o.moe.topk, setting->configs.size()) +
         table_of(all, "tokens", !o.measure.empty()) + "\nx default: times faster than vLLM without a tuned file\n" +
         where_to_put(o, paths);
}

Result<std::string> run_tune_gemm(const TuneOptions& o) {
  const auto setting = setting_of(o);
  if (!setting) return setting.error();
  constexpr Count kMost = 1 << 24;
  for (const auto& [name, side] : {std::pair{"--m", o.gemm.m}, {"--n", o.gemm.n}, {"--k", o.gemm.k}})
    if (side < 1 || side > kMost) return Error{name, "", fmt::format("must lie between 1 and {}", kMost), ""};
  auto ranked = rank_gemm(o.gemm, setting->format, setting->gpu, setting->configs);
  if (!ranked) return ranked.error();
  std::vector<Tuned> all = {{o.gemm.m, candidates(*ranked, o.top), std::nullopt, {}}};
  if (!o.measure.empty()) {
    std::fprintf(stderr, "measuring %zu configurations\n", all[0].best.size());
    measure(all[0], o, [&](auto configs) { return measure_command(o.measure, o.gemm, configs); });
    if (!all[0].note.empty()) return error("nothing was measured: " + all[0].note);
  }
  if (o.json) {
    Json json{{"gpu", setting->gpu.name},
              {"dtype", setting->format.name},
              {"m", o.gemm.m},
              {"n", o.gemm.n},
              {"k", o.gemm.k},
              {"configurations", setting->configs.size()}};
    json.update(tuned_json(all[0]));
    json.erase("tokens");
    return json_text(json);
  }
  return fmt::format("Product {} x {} x {} on {}, {}: {} configurations of a Triton kernel can run\n\n", o.gemm.m,
                     o.gemm.n, o.gemm.k, setting->gpu.name, setting->format.name, setting->configs.size()) +
         table_of(all, "m", !o.measure.empty());
}

}  // namespace tilecast
