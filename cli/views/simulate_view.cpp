// A simulated deployment for people.
#include "cli/views/simulate_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string workload_text(const SimulateQuery& q, const ServingMetrics& m) {
  if (!q.trace.empty())
    return fmt::format("{} requests of {}", m.completed + m.refused + m.cancelled + m.unsent, q.trace);
  std::string text = fmt::format("{} requests, input {}, output {}", q.num_prompts, q.load.input, q.load.output);
  if (!q.requests.turns.empty())
    text = fmt::format("{} conversations of {} turns, first input {}, later ones {} more, output {}, pauses of {}",
                       q.num_prompts, q.requests.turns, q.load.input, q.requests.turn_input, q.load.output,
                       q.requests.think_time);
  if (q.load.prefixes > 0) text += fmt::format(", {} prefixes of {} tokens", q.load.prefixes, q.load.prefix_tokens);
  return text;
}

std::string deployment_text(const SimulateQuery& q, const SimulationResult& run) {
  const Count gpus = run.replicas * run.tp * run.pp;
  std::string text =
      fmt::format("{} on {}{}{}, {} {}", run.model, gpus > 1 ? fmt::format("{} × ", gpus) : std::string(), run.gpu,
                  run.layout.empty() ? std::string() : " (" + run.layout + ")", name_of(run.engine), run.dtype);
  if (run.prefill_replicas > 0)
    text += fmt::format(", prompts on {} more{}, link {:g} GB/s", run.prefill_replicas,
                        q.prefill_tp ? fmt::format(" of tp {}", *q.prefill_tp) : "", q.link_gb_per_s);
  text += fmt::format("\nup to {} sequences, {} tokens a step; cache of {} blocks of {}: {} tokens ({})\n",
                      grouped(run.max_sequences), grouped(run.step_tokens), grouped(run.blocks), run.block_tokens,
                      grouped(run.blocks * run.block_tokens), text_of(run.memory.cache));
  const SimulatedLoad& load = run.loads.front();
  if (load.metrics.completed > 0)
    text += fmt::format("room for {} requests of the mean length at once on a replica\n", load.most_at_once);
  return text;
}

std::string latency_table(const SimulatedLoad& load) {
  Table table({{"", Align::left}, {"mean"}, {"median"}, {"p90"}, {"p99"}, {"80 % interval of the mean"}});
  const auto row = [&](const char* name, Summary ServingMetrics::*figure) {
    const Summary& s = load.metrics.*figure;
    std::string interval = "–";
    if (load.fast && load.slow) {
      const double a = ((*load.fast).*figure).mean, b = ((*load.slow).*figure).mean;
      interval = text_of(seconds(std::min(a, b))) + " – " + text_of(seconds(std::max(a, b)));
    }
    table.add({name, text_of(seconds(s.mean)), text_of(seconds(s.median)), text_of(seconds(s.p90)),
               text_of(seconds(s.p99)), interval});
  };
  row("TTFT", &ServingMetrics::ttft);
  row("TPOT", &ServingMetrics::tpot);
  row("ITL", &ServingMetrics::itl);
  row("E2EL", &ServingMetrics::e2el);
  row("queue", &ServingMetrics::queue);
  return table.shown();
}

std::string energy_text(const ServingMetrics& m) {
  if (!m.energy) return "";
  std::string text =
      fmt::format("energy {}, {} of all GPUs on average", text_of_energy(m.energy->joules), text_of_power(m.energy->watts));
  if (m.energy->per_token) text += ", " + text_of_energy(*m.energy->per_token) + " an output token";
  return text + " (a model: docs/serving.md)\n";
}

std::string classes_table(const ServingMetrics& m) {
  Table table({{"class", Align::left},
               {"completed"},
               {"cancelled"},
               {"refused"},
               {"TTFT mean"},
               {"TTFT p99"},
               {"TPOT mean"},
               {"TPOT p99"},
               {"E2EL mean"},
               {"goodput"}});
  for (const ClassMetrics& c : m.classes)
    table.add({c.name, fmt::format("{}", c.completed), fmt::format("{}", c.cancelled), fmt::format("{}", c.refused),
               text_of(seconds(c.ttft.mean)), text_of(seconds(c.ttft.p99)), text_of(seconds(c.tpot.mean)),
               text_of(seconds(c.tpot.p99)), text_of(seconds(c.e2el.mean)),
               c.goodput ? text_of_rate(*c.goodput) : "–"});
  return table.shown();
}

std::string offload_text(const ServingOutcome& outcome) {
  std::string text;
  for (const auto& [name, tier] : {std::pair("host", 0), {"disk", 1}}) {
    const auto at = static_cast<std::size_t>(tier);
    if (outcome.stored[at] > 0)
      text += fmt::format("{}: {} tokens of keys stored, {} loaded\n", name,
                          text_of_count(static_cast<double>(outcome.stored[at])),
                          text_of_count(static_cast<double>(outcome.loaded[at])));
  }
  return text;
}

// Replicas over the run as a row of digits, and what they cost beside a fixed number of them.
std::string fleet_text(const SimulatedLoad& load) {
  if (!load.outcome.fleet) return "";
  const FleetRecord& fleet = *load.outcome.fleet;
  Count most = 0;
  for (const FleetChange& c : fleet.changes) most = std::max(most, c.on);
  const auto row = [](const std::string& name, const ServingMetrics& m) {
    std::string text = fmt::format("{}: {} GPU-hours", name, text_of_rate(m.gpu_hours));
    if (m.missed) text += fmt::format(", {} of {} requests miss the objectives", *m.missed, m.completed);
    return text + fmt::format(", TTFT p99 {}\n", text_of(seconds(m.ttft.p99)));
  };
  std::string text =
      row(fmt::format("autoscaled, up to {} replicas, {} lives", most, fleet.lives.size()), load.metrics);
  if (load.fixed) text += row(fmt::format("fixed at {}", load.fixed_replicas), *load.fixed);
  text += "replicas over the run: ";
  for (const Slice& s : over_time(load.outcome, 24)) text += fmt::format("{:g} ", s.replicas);
  return text + "\n";
}

std::string load_text(const SimulatedLoad& load) {
  const ServingMetrics& m = load.metrics;
  std::string text = fmt::format("completed {} in {}, {} steps of {} requests\n", grouped(m.completed),
                                 text_of(seconds(m.duration)), grouped(m.steps), three_digits(m.mean_batch));
  text += fmt::format("throughput {} requests/s, {} output tokens/s, {} tokens/s", text_of_rate(m.request_throughput),
                      text_of_rate(m.output_throughput), text_of_rate(m.total_throughput));
  if (load.fast && load.slow)
    text += fmt::format("  (output 80 % interval {} – {})", text_of_rate(load.slow->output_throughput),
                        text_of_rate(load.fast->output_throughput));
  if (m.goodput) text += "\ngoodput " + text_of_rate(*m.goodput) + " requests/s within the objectives";
  text += fmt::format("\ncache {} in use on average, {} at most; GPU busy {}", percent(m.cache_mean),
                      percent(m.cache_peak), percent(m.gpu_busy));
  if (m.hit_rate > 0) text += fmt::format("; {} of prompt tokens found in the cache", percent(m.hit_rate));
  if (m.preemptions > 0) text += fmt::format("; {} preemptions", m.preemptions);
  text += "\n" + energy_text(m) + offload_text(load.outcome) + fleet_text(load);
  if (m.cancelled > 0)
    text +=
        fmt::format("cancelled {} by their clients, {} tokens of answers for nothing\n", m.cancelled, m.wasted_tokens);
  if (m.unsent > 0) text += fmt::format("{} turns were not sent: their conversations had broken off\n", m.unsent);
  if (load.outcome.refusals > 0) {
    text += fmt::format("refused {}:\n", load.outcome.refusals);
    for (const std::string& why : load.outcome.refused) text += "  " + why + "\n";
  }
  if (m.completed == 0) return text;
  text += "\n" + latency_table(load);
  return m.classes.empty() ? text : text + "\n" + classes_table(m);
}

// One curve over loads, each column a load; the height is logarithmic, as latencies explode.
std::string curve(const std::string& title, const std::vector<SimulatedLoad>& loads,
                  double (*value)(const SimulatedLoad&)) {
  constexpr int kHeight = 8, kColumn = 8;
  double low = 1e300, high = 0;
  for (const SimulatedLoad& load : loads)
    if (value(load) > 0) low = std::min(low, value(load)), high = std::max(high, value(load));
  if (!(high > 0)) return "";
  const double span = std::max(std::log(high / low), 0.05);
  std::string text = title + "\n";
  for (int row = kHeight; row >= 0; --row) {
    std::string line;
    for (const SimulatedLoad& load : loads) {
      const double v = value(load);
      const int at = v > 0 ? static_cast<int>(std::lround(std::log(v / low) / span * kHeight)) : -1;
      line += fmt::format("{:>{}}", at == row ? "o" : "", kColumn);
    }
    const bool end = row == kHeight || row == 0;
    text += fmt::format("{:>10} |{}\n", end ? text_of(seconds(row == 0 ? low : high)) : "", line);
  }
  text += fmt::format("{:>10} +{}\n{:>12}", "", std::string(loads.size() * kColumn, '-'), "");
  for (const SimulatedLoad& load : loads) text += fmt::format("{:>{}}", fmt::format("{:g}", load.value), kColumn);
  return text + "\n";
}

std::string sweep_text(const SimulateQuery& q, const SimulationResult& run) {
  const bool of_rate = q.sweep.starts_with("rate");
  Table table({{of_rate ? "rate" : "concurrency"},
               {"requests/s"},
               {"output tokens/s"},
               {"TTFT mean"},
               {"TTFT p99"},
               {"TPOT mean"},
               {"TPOT p99"},
               {"E2EL mean"},
               {"cache"},
               {"GPU busy"},
               {"J/token"},
               {"goodput"}});
  for (const SimulatedLoad& load : run.loads) {
    const ServingMetrics& m = load.metrics;
    table.add({fmt::format("{:g}", load.value), text_of_rate(m.request_throughput), text_of_rate(m.output_throughput), text_of(seconds(m.ttft.mean)), text_of(seconds(m.ttft.p99)),
               text_of(seconds(m.tpot.mean)), text_of(seconds(m.tpot.p99)), text_of(seconds(m.e2el.mean)),
               percent(m.cache_mean), percent(m.gpu_busy),
               m.energy && m.energy->per_token ? fmt::format("{:.3g}", *m.energy->per_token) : "–",
               m.goodput ? text_of_rate(*m.goodput) : "–"});
  }
  const std::string x = of_rate ? "rate, requests a second" : "concurrency";
  return table.shown() + "\n" +
         curve("mean TTFT against " + x, run.loads, [](const SimulatedLoad& l) { return l.metrics.ttft.mean; }) + "\n" +
         curve("mean TPOT against " + x, run.loads, [](const SimulatedLoad& l) { return l.metrics.tpot.mean; });
}

}  // namespace

std::string simulate_text(const SimulateQuery& q, const SimulationResult& run) {
  std::string text = deployment_text(q, run) + workload_text(q, run.loads.front().metrics);
  if (q.sweep.empty())
    text += q.load.rate                         ? fmt::format(", {:g} a second", *q.load.rate)
            : q.trace.empty() && !q.concurrency ? ", all at once"
                                                : "";
  if (q.concurrency && q.sweep.empty()) text += fmt::format(", {} in flight at most", *q.concurrency);
  text += "\n";
  for (const std::string& note : run.notes) text += note_word("Note:") + " " + note + "\n";
  text += "\n";
  return text + (q.sweep.empty() ? load_text(run.loads.front()) : sweep_text(q, run));
}

}  // namespace tilecast
