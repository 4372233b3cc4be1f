#include "tilecast/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "api/answer_each.h"
#include "api/chosen_method.h"
#include "api/common_arguments.h"
#include "api/declare.h"
#include "api/program_tables.h"
#include "cluster/registry.h"
#include "engine/run.h"
#include "engine/step_parts.h"
#include "gpu/registry.h"
#include "parallel/program_ranks.h"
#include "support/gzip_reader.h"
#include "support/input.h"

namespace tilecast {
namespace {

// What a list of queries shares.
struct ProgramLookups {
  std::map<std::string, Result<ProgramFile>> files;
  std::map<std::string, Result<Gpu>> gpus;
  std::map<std::pair<Method, std::string>, Result<ChosenMethod>> methods;

  template <class Map, class Key, class Make>
  static auto& kept(Map& map, const Key& key, Make&& make) {
    auto at = map.find(key);
    if (at == map.end()) at = map.emplace(key, make()).first;
    return at->second;
  }
};

// The format most products run in, for the peak that model FLOPs are set against.
const Format* product_format_of(const Program& program) {
  const Format* most = nullptr;
  double flops = 0;
  std::map<std::string_view, double> by_format;
  for (const KernelCall& call : program.calls) {
    const double sum = by_format[call.kernel.format.name] += call.flops * static_cast<double>(call.times);
    if (sum > flops) flops = sum, most = &call.kernel.format;
  }
  return most;
}

ProgramStep step_of(const ProgramFile& file, const RecordedProgram& recorded, const RecordedForecast& forecast,
                    const Gpu& gpu) {
  const ProgramForecast& f = forecast.step;
  ProgramStep step;
  step.program = file.name, step.torch = file.torch, step.gpu = gpu.name;
  step.time = f.total, step.interval = f.interval, step.kernels = forecast.kernels;
  step.gpu_time = f.gpu, step.host_time = f.host, step.bound = f.bound;
  step.host_bound = f.host > f.gpu - forecast.beside;
  step.calls = static_cast<Count>(file.calls.size()), step.launches = recorded.program.launches();
  step.flops = f.flops, step.seen = seen_of(recorded.program, f);
  if (const Format* format = product_format_of(recorded.program); format && f.total > seconds(0))
    if (const OpsPerSecond peak = dense_peak(gpu, *format); peak.base() > 0)
      step.mfu = f.flops / (f.total.base() * peak.base());
  add_shares(step, file, recorded, f);
  add_modules(step, file, recorded, f);
  step.memory = memory_of(file, recorded, gpu);
  return step;
}

// The cards of a program over many; nothing of one that runs on one.
Result<std::optional<Cluster>> cluster_for(const ProgramQuery& query, const ProgramFile& file) {
  if (file.world < 2) {
    if (!query.cluster.empty())
      return field_error("cluster", "has no effect: the program was recorded on one card",
                         "leave it out, or record it over many (docs/program.md)");
    return std::optional<Cluster>();
  }
  auto cluster =
      cluster_of(query.cluster.empty() ? fmt::format("{}x{}", file.world, query.gpu) : query.cluster, file.world);
  if (!cluster) return in_field(std::move(cluster).error(), query.cluster.empty() ? "gpu" : "cluster");
  if (cluster->gpus() < file.world)
    return field_error(
        "cluster", fmt::format("{} has {} GPUs, the program runs over {}", cluster->name, cluster->gpus(), file.world),
        "name a larger one, or more nodes");
  return std::optional<Cluster>(*std::move(cluster));
}

Status check_same_card(const Gpu& gpu, const Cluster& cluster) {
  if (gpu.name == cluster.gpu.name) return Ok{};
  return field_error("gpu", gpu.name + " is not the GPU of the cluster " + cluster.name + ", " + cluster.gpu.name,
                     "leave one of them out");
}

// The step waits for collectives that nothing hides.
Status add_collectives(ProgramStep& step, const ProgramFile& file, const RecordedProgram& recorded,
                       const RecordedForecast& forecast, const Cluster& cluster) {
  const Seconds busy = forecast.step.gpu - forecast.beside;
  const double pace = busy > seconds(0) ? std::max(1.0, forecast.step.total / busy) : 1;
  const auto spread_step = spread(file, recorded, forecast.step, pace, cluster);
  if (!spread_step) return spread_step.error();
  step.cluster = cluster.name, step.ranks = file.world;
  step.exchanged = spread_step->exchanged, step.exposed = spread_step->exposed;
  step.time += spread_step->exposed;
  step.interval = {step.interval.low + spread_step->open.low, step.interval.high + spread_step->open.high};
  for (const ProgramExchange& e : spread_step->exchanges)
    step.collectives.push_back({e.op, e.ranks, e.calls, e.bytes, e.each, e.algorithm});
  if (step.time > step.exposed) step.mfu *= (step.time - step.exposed) / step.time;
  return Ok{};
}

Result<ProgramStep> answer(const ProgramQuery& query, ProgramLookups& known) {
  if (query.program.empty())
    return field_error("program", "is missing", "a file of tilecast.torch, see docs/program.md");
  if (query.engine && query.engine != EngineKind::pytorch && query.engine != EngineKind::compile)
    return field_error("engine", std::string(name_of(*query.engine)) + " does not run recorded programs",
                       "pytorch or compile");
  const auto& file = known.kept(known.files, query.program, [&] { return program_from_file(query.program); });
  if (!file) return file.error();
  if (query.engine == EngineKind::pytorch && file->from_inductor)
    return field_error("engine",
                       "pytorch does not run this program: it was recorded in the pieces that torch.compile fuses",
                       "compile, or record it without compile (docs/program.md)");
  const EngineKind engine = query.engine.value_or(file->from_inductor ? EngineKind::compile : EngineKind::pytorch);
  const auto cluster = cluster_for(query, *file);
  if (!cluster) return cluster.error();
  const std::string card = query.gpu.empty() && *cluster ? (*cluster)->gpu.name : query.gpu;
  const auto& gpu = known.kept(known.gpus, card, [&] { return load_gpu(card); });
  if (!gpu) return in_field(gpu.error(), "gpu");
  if (*cluster)
    if (auto fine = check_same_card(*gpu, **cluster); !fine) return std::move(fine).error();
  const auto& method = known.kept(known.methods, std::pair(query.method, query.weights),
                                  [&] { return chosen_method(query.method, query.weights); });
  if (!method) return method.error();
  const RecordedProgram recorded = as_kernels(*file, *gpu, {engine});
  const auto forecast = forecast_recorded(recorded, *gpu, method->method, method->weights());
  if (!forecast) return forecast.error();
  ProgramStep step = step_of(*file, recorded, *forecast, *gpu);
  step.engine = engine, step.method = query.method;
  if (*cluster)
    if (auto fine = add_collectives(step, *file, recorded, *forecast, **cluster); !fine) return std::move(fine).error();
  return step;
}

}  // namespace

bool is_program(const std::string& path) {
  if (!path.ends_with(".json") && !path.ends_with(".gz")) return false;
  if (is_stream(path) || !something_at(path)) return false;
  if (path.ends_with(".json.gz")) return true;  // no other model is packed: reading it says what is wrong with it
  auto bytes = ByteReader::open(path);
  if (!bytes) return false;
  std::string beginning(256, '\0');
  const auto got = bytes->read(beginning.data(), beginning.size());
  if (!got) return false;
  beginning.resize(*got);
  return looks_like_program_json(beginning);
}

Status check_program_arguments(const StepQuery& query) {
  StepQuery given = query, plain;
  const auto asked = arguments_of(given), untouched = arguments_of(plain);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string& name = asked[i].about.name;
    if (name == "model" || name == "gpu" || name == "cluster" || name == "engine" || name == "method" ||
        name == "weights")
      continue;
    if (asked[i].get() != untouched[i].get())
      return field_error(name, "has no effect: a recorded program fixes it", "leave it out, or record another program");
  }
  return Ok{};
}

Result<ProgramStep> forecast(const ProgramQuery& query) {
  ProgramLookups known;
  return answer(query, known);
}

std::vector<Result<ProgramStep>> forecast(std::span<const ProgramQuery> queries) {
  return answer_each<ProgramLookups>(
      queries, [](const ProgramQuery& query, ProgramLookups& known) { return answer(query, known); });
}

std::vector<BoundArgument> arguments_of(ProgramQuery& q) {
  Declare list;
  list.add(q.program, {.name = "program",
                       .help = "a PyTorch program recorded by tilecast.torch (docs/program.md)",
                       .example = "my-model.json.gz",
                       .required = true,
                       .positional = true,
                       .touches = Touches::file});
  list.add(q.gpu,
           {.name = "gpu", .help = "GPU name or description file", .example = "H100-SXM", .touches = Touches::gpu});
  list.add(q.cluster,
           {.name = "cluster",
            .help = "of a program over many cards: the cluster they are in, by name or file (docs/clusters.md)",
            .example = "hgx-h100",
            .touches = Touches::cluster});
  list.add(q.engine, {.name = "engine",
                      .help = "pytorch runs the program as recorded, compile fuses it as torch.compile would; by "
                              "default as it was recorded",
                      .example = "compile",
                      .choices = {"pytorch", "compile"}});
  list.add(q.method, method_argument());
  list.add(q.weights, weights_argument());
  return list.take();
}

}  // namespace tilecast
