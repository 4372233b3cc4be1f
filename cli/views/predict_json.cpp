// The same forecasts for programs (docs/json.md), and as a trace for Perfetto.
#include <nlohmann/json.hpp>

#include "cli/views/memory_json.h"
#include "cli/commands/predict_command.h"
#include "support/chrome_trace.h"
#include "support/json.h"

namespace tilecast {

nlohmann::ordered_json memory_json(const MemoryNeed& m) {
  return {{"weights", m.weights.base()},     {"gradients", m.gradients.base()},
          {"optimizer", m.optimizer.base()}, {"activations", m.activations.base()},
          {"cache", m.cache.base()},         {"workspace", m.workspace.base()},
          {"total", m.total().base()}};
}

namespace {

using Json = nlohmann::ordered_json;

double ms(Seconds t) { return t.base() * 1e3; }

Json memory_json(const RunForecast& f) {
  Json json = memory_json(f.memory);
  json["usable"] = f.usable.base(), json["fits"] = f.fits(), json["cache_room_tokens"] = f.cache_tokens;
  return json;
}

Json call_json(const Program& program, const KernelCall& call, const CallForecast& c) {
  Json dims = Json::object();
  for (const auto& [name, value] : dims_of(call.kernel.shape)) dims[name] = value;
  const ProgramSection& section = program.sections[call.section];
  return Json{{"name", call.name},
              {"section", section.name},
              {"pass", name_of(section.pass)},
              {"class", name_of(call.op_class)},
              {"family", family_of(call.kernel.shape)},
              {"dtype", call.kernel.format.name},
              {"dims", dims},
              {"times", call.times},
              {"latency_us", in_microseconds(c.each)},
              {"interval_us", {in_microseconds(c.interval.low), in_microseconds(c.interval.high)}},
              {"ceiling_us", in_microseconds(c.ceiling)},
              {"bound_us", in_microseconds(c.bound)},
              {"limited_by", name_of(c.limited_by)},
              {"seen", name_of(c.seen)},
              {"unknown", call.unknown}};
}

Json variant_json(const Variant& v) {
  const StepForecast& s = v.forecast.step;
  Json requests = Json::array();
  for (const Requests& r : v.run.workload.requests)
    requests.push_back({{"count", r.count}, {"new_tokens", r.new_tokens}, {"cached", r.cached}});
  if (v.refused)
    return Json{{"model", name_of(v.run.model)},
                {"gpu", v.gpu.name},
                {"mode", name_of(v.run.workload.mode)},
                {"engine", name_of(v.run.engine.kind)},
                {"dtype", v.run.engine.precision.linear.name},
                {"requests", requests},
                {"error", v.refused->line()}};
  Json kernels = Json::array();
  for (std::size_t i = 0; i < s.calls.size(); ++i)
    kernels.push_back(call_json(v.prepared.program, v.prepared.program.calls[i], s.calls[i]));
  Json json = {{"model", name_of(v.run.model)},
              {"gpu", v.gpu.name},
              {"mode", name_of(v.run.workload.mode)},
              {"engine", name_of(v.run.engine.kind)},
              {"dtype", v.run.engine.precision.linear.name},
              {"requests", requests},
              {"step_ms", ms(s.total)},
              {"interval_ms", {ms(s.interval.low), ms(s.interval.high)}},
              {"ceiling_ms", ms(s.ceiling)},
              {"bound_ms", ms(s.bound)},
              {"gpu_ms", ms(s.gpu)},
              {"host_ms", ms(s.host)},
              {"tokens_per_second", v.forecast.tokens_per_second},
              {"model_flops", s.flops},
              {"mfu", v.forecast.utilisation},
              {"memory_bytes", memory_json(v.forecast)},
              {"kernels", kernels}};
  if (const std::string note = beyond_context(v.run); !note.empty()) json["note"] = note;
  return json;
}

}  // namespace

std::string predict_json(const std::vector<Variant>& variants) {
  Json list = Json::array();
  for (const Variant& v : variants) list.push_back(variant_json(v));
  return json_text(list);
}

// One process a variant; every repetition of a section is drawn, kernels back to back.
std::string trace_json(const std::vector<Variant>& variants) {
  constexpr int kSections = 1, kKernels = 2;
  ChromeTrace trace;
  int process = 0;
  for (const Variant& v : variants) {
    const Program& program = v.prepared.program;
    trace.process(++process, v.gpu.name + " " + std::string(name_of(v.run.engine.kind)));
    Seconds now;
    std::size_t first = 0;
    while (first < program.calls.size()) {
      std::size_t end = first;
      while (end < program.calls.size() && program.calls[end].section == program.calls[first].section) ++end;
      const ProgramSection& section = program.sections[program.calls[first].section];
      for (Count repeat = 0; repeat < section.repeats; ++repeat) {
        const Seconds start = now;
        for (std::size_t i = first; i < end; ++i) {
          const KernelCall& call = program.calls[i];
          const CallForecast& forecast = v.forecast.step.calls[i];
          const Seconds duration =
              forecast.each * static_cast<double>(call.times / std::max<Count>(1, section.repeats));
          const std::string kernel = std::string(family_of(call.kernel.shape)) + " " + dims_text(call.kernel.shape);
          trace.span(process, kKernels, {call.name, name_of(call.op_class), now, duration},
                     {{"kernel", kernel}, {"limited_by", name_of(forecast.limited_by)}});
          now += duration;
        }
        std::string name = section.name;
        if (section.repeats > 1) name += " " + std::to_string(repeat + 1);
        trace.span(process, kSections, {name, name_of(section.pass), start, now - start});
      }
      first = end;
    }
  }
  return trace.text();
}

}  // namespace tilecast
