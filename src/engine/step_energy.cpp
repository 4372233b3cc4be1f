#include "engine/step_energy.h"

#include "estimate/power.h"

namespace tilecast {

std::optional<double> joules_of_step(const Program& program, const ProgramForecast& step, const Gpu& gpu) {
  const auto law = metered_law(gpu);
  if (!law) return {};
  PowerWork work;
  for (std::size_t i = 0; i < step.calls.size(); ++i)
    work = work + step.calls[i].work * static_cast<double>(program.calls[i].times);
  if (!(work.core + work.memory > 0)) return {};
  return joules_at(*law, work, clock_under(*law, work, law->limit)) + law->idle.base() * step.total.base();
}

}  // namespace tilecast
