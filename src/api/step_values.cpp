#include "api/step_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "api/fit_notes.h"
#include "api/format_notes.h"
#include "engine/step_energy.h"
#include "engine/step_parts.h"
#include "parallel/plan.h"

namespace tilecast {
namespace {

StepKernel kernel_of(const KernelCall& call, const CallForecast& forecast) {
  StepKernel k;
  k.name = call.name, k.section = call.section, k.op_class = name_of(call.op_class);
  k.family = family_of(call.kernel.shape), k.shape = dims_text(call.kernel.shape);
  for (const auto& [name, value] : dims_of(call.kernel.shape)) k.dims.emplace_back(name, value);
  k.dtype = forecast.format.empty() ? call.kernel.format.name : forecast.format, k.times = call.times,
  k.unknown = call.unknown;
  k.each = forecast.each, k.interval = forecast.interval, k.ceiling = forecast.ceiling, k.bound = forecast.bound;
  k.limited_by = forecast.limited_by, k.seen = forecast.seen;
  return k;
}

std::vector<StepShare> shares_of(const std::vector<StepPart>& parts) {
  std::vector<StepShare> shares;
  shares.reserve(parts.size());
  for (const StepPart& part : parts)
    shares.push_back({part.name, part.time, part.bound, part.launches, part.limited_by()});
  return shares;
}

// "backward layer × 32".
std::string label_of(const ProgramSection& section) {
  std::string name;
  if (section.pass == Pass::backward) name = std::string(name_of(section.pass)) + " ";
  name += section.name;
  return section.repeats > 1 ? fmt::format("{} × {}", name, section.repeats) : name;
}

// What a program's kernels and their forecasts say.
void put_kernels(const Program& program, const ProgramForecast& priced, StepForecast& out) {
  for (const ProgramSection& section : program.sections)
    out.sections.push_back({section.name, section.repeats, std::string(name_of(section.pass))});
  for (std::size_t i = 0; i < priced.calls.size(); ++i)
    out.kernels.push_back(kernel_of(program.calls[i], priced.calls[i]));
  out.by_class = shares_of(step_classes(program, priced));
  out.by_section = shares_of(
      step_parts(program, priced, [&](const KernelCall& call) { return label_of(program.sections[call.section]); }));
  out.gpu = priced.gpu, out.host = priced.host, out.host_bound = priced.host_bound(), out.flops = priced.flops;
  out.limited_by = whole_step(program, priced).limited_by();
  out.seen = seen_of(program, priced);
}

StepOverMany over_many(const ParallelForecast& f) {
  StepOverMany many;
  many.micro_batches = f.micro_batches;
  many.compute = f.compute, many.bubble = f.bubble, many.optimizer = f.optimizer, many.exposed = f.exposed();
  for (std::size_t a = 0; a < f.axes.size(); ++a)
    many.axes.push_back({static_cast<Axis>(a), f.axes[a].total, f.axes[a].exposed});
  for (const StageForecast& s : f.stages)
    many.stages.push_back({s.layers, s.forward, s.backward, {s.memory, s.usable, s.cache_tokens}});
  for (std::size_t i = 0; i < f.exchanges.size(); ++i) {
    const Exchange& e = f.exchanges[i];
    many.exchanges.push_back({e.name, e.axis, std::string(name_of(e.pass)), std::string(name_of(e.call.op)),
                              e.call.bytes, e.call.ranks, e.times, e.beside, f.exchange_times[i].latency,
                              std::string(f.exchange_times[i].algorithm)});
  }
  many.usable = f.usable, many.fits = f.fits(), many.seen_share = f.seen_share;
  return many;
}

}  // namespace

StepForecast step_of(const AskedStep& asked, const PreparedRun& prepared, const RunForecast& f) {
  StepForecast out;
  out.setting = asked.setting;
  put_kernels(prepared.program, f.step, out);
  out.time = f.step.total, out.interval = f.step.interval, out.ceiling = f.step.ceiling, out.bound = f.step.bound;
  out.tokens_per_second = f.tokens_per_second, out.mfu = f.utilisation;
  out.joules = joules_of_step(prepared.program, f.step, *asked.gpu);
  out.memory = {f.memory, f.usable, f.cache_tokens};
  out.notes = notes_on(asked);
  add_fit_note(asked, {out.memory}, out.notes);
  if (std::string above = above_peak_note(asked.run, *asked.gpu, out.mfu); !above.empty())
    out.notes.push_back(std::move(above));
  return out;
}

StepForecast step_of(const AskedStep& asked, ParallelForecast f) {
  StepForecast out;
  out.setting = asked.setting;
  put_kernels(f.program, f.rank, out);
  out.time = f.step, out.interval = f.interval, out.ceiling = out.bound = f.bound;
  out.host_bound = f.host_bound;
  out.tokens_per_second = f.tokens_per_second, out.mfu = f.utilisation;
  out.joules = step_joules(asked.over_ranks(), f, *asked.cluster);
  out.many = over_many(f);
  for (const StepStage& stage : out.many->stages)
    if (stage.memory.need.total() > out.memory.need.total() || &stage == &out.many->stages.front())
      out.memory = stage.memory;
  out.notes = notes_on(asked);
  add_fit_note(asked, memory_of(f), out.notes);
  if (std::string above = above_peak_note(asked.run, asked.cluster->gpu, out.mfu); !above.empty())
    out.notes.push_back(std::move(above));
  out.detail = std::make_shared<const StepDetail>(StepDetail{asked.over_ranks(), std::move(f), *asked.cluster});
  return out;
}

std::vector<StepMemory> memory_of(const ParallelForecast& forecast) {
  std::vector<StepMemory> all;
  for (const StageForecast& s : forecast.stages) all.push_back({s.memory, s.usable, s.cache_tokens});
  return all;
}

}  // namespace tilecast
