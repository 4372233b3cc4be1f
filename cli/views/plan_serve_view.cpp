// A serving plan as text.
//
//   cheapest: 2 × H100-SXM, vllm fp8, 2 replicas                        $7.98 an hour, $0.43 a million output tokens
#include "cli/views/plan_serve_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "support/counted.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string formats_text(const PlannedServing& d) {
  return d.dtype + (d.kv_dtype == KvDtype::automatic ? std::string() : fmt::format(", cache {}", name_of(d.kv_dtype)));
}

// "tp 2 × 3"
std::string pool_text(const ServingPool& p) {
  const std::string text = p.layout.empty() ? "1 GPU" : p.layout;
  return p.copies > 1 ? fmt::format("{} × {}", text, p.copies) : text;
}
std::string spread_text(const PlannedServing& d) {
  if (!d.prefill) return pool_text(d.pool);
  return fmt::format("prompts {}; answers {}", pool_text(*d.prefill), pool_text(d.pool));
}

std::string objectives_text(const ServingPlan& p) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Seconds>& slo) {
    if (slo) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, text_of(*slo));
  };
  add("TTFT", p.slo.ttft), add("TPOT", p.slo.tpot), add("E2EL", p.slo.e2el);
  return fmt::format("{} ({})", text, name_of(p.statistic));
}

// "1024 / 8192": sequences, and tokens of a step; of prompts before answers where pools are apart.
std::string limits_text(const PlannedServing& d) {
  const auto of = [](const ServingPool& p) { return fmt::format("{} / {}", p.max_sequences, p.step_tokens); };
  return d.prefill ? of(*d.prefill) + "; " + of(d.pool) : of(d.pool);
}

// What the objective ranks by.
std::vector<Table::Column> objective_columns(const ServingPlan& p) {
  switch (p.objective) {
    case ServingObjective::load: return {{"req/s"}, {"$/h"}, {"$/M out"}};
    case ServingObjective::energy: return {{"J/token"}, {"$/h"}, {"$/M out"}};
    default: return {{"$/h"}, {"$/M out"}};
  }
}
std::vector<std::string> objective_cells(const ServingPlan& p, const PlannedServing& d) {
  std::vector<std::string> cells;
  if (p.objective == ServingObjective::load) cells.push_back(text_of_rate(d.rate));
  if (p.objective == ServingObjective::energy)
    cells.push_back(d.simulated->energy && d.simulated->energy->per_token
                        ? fmt::format("{:.3g}", *d.simulated->energy->per_token)
                        : "–");
  for (const std::optional<double>& dollars : {d.usd_per_hour, d.usd_per_million_tokens})
    cells.push_back(dollars ? text_of_usd(*dollars).substr(1) : "–");  // the column says it
  return cells;
}

std::string table_text(const ServingPlan& p, const std::vector<std::size_t>& rows) {
  const std::string at(name_of(p.statistic));
  std::vector<Table::Column> columns = objective_columns(p);
  for (const Table::Column& column :
       {Table::Column{"GPUs", Align::left}, Table::Column{"engine", Align::left}, Table::Column{"format", Align::left},
        Table::Column{"layout", Align::left}, Table::Column{"seqs / tokens"}, Table::Column{"TTFT " + at},
        Table::Column{"TPOT " + at}, Table::Column{"margin"}, Table::Column{"chance"}, Table::Column{"tokens/s/GPU"},
        Table::Column{"tokens/s/user"}, Table::Column{"in flight"}, Table::Column{"weights + cache"},
        Table::Column{"cache peak"}, Table::Column{"seen", Align::left}})
    columns.push_back(column);
  Table table(columns);
  for (const std::size_t i : rows) {
    const PlannedServing& d = p.finalists[i];
    const ServingMetrics& m = *d.simulated;
    std::vector<std::string> cells = objective_cells(p, d);
    for (std::string& cell : std::vector<std::string>{
             fmt::format("{} × {}", d.gpus, d.gpu), std::string(name_of(d.engine)),
             formats_text(d) + (d.to_fill_in.empty() ? "" : " *"), spread_text(d), limits_text(d),
             text_of(statistic_of(m.ttft, p.statistic)), text_of(statistic_of(m.tpot, p.statistic)),
             p.any_objective() ? percent(d.margin) : "–", d.chance ? percent(*d.chance) : "–",
             text_of_rate(d.tokens_per_gpu), grouped(std::llround(d.tokens_per_user)),
             grouped(std::llround(d.concurrency)), memory_words(d) + " GiB", percent(m.cache_peak),
             seen_text(name_of(d.seen))})
      cells.push_back(std::move(cell));
    table.add(cells);
  }
  std::string text = table.shown();
  std::vector<std::string> told;
  for (const std::size_t i : rows)
    for (const std::string& blank : p.finalists[i].to_fill_in)
      if (std::find(told.begin(), told.end(), blank) == told.end()) told.push_back(blank);
  for (const std::string& blank : told) text += fmt::format("* its files ask for a name: {}\n", blank);
  return text;
}

std::string margin_text(const ServingPlan& p, const PlannedServing& d) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<Seconds>& slo, const Summary& of) {
    if (!slo) return;
    const Seconds value = statistic_of(of, p.statistic);
    text += fmt::format("{}{} {} of {} ({} to spare)", text.empty() ? "" : ", ", name, text_of(value), text_of(*slo),
                        percent(1 - value / *slo));
  };
  add("TTFT", p.slo.ttft, d.simulated->ttft);
  add("TPOT", p.slo.tpot, d.simulated->tpot);
  add("E2EL", p.slo.e2el, d.simulated->e2el);
  return text;
}

// "chat: TTFT 212 ms of 500 ms, TPOT 11 ms", by the objectives of each class.
std::string classes_text(const ServingPlan& p, const PlannedServing& d) {
  std::string text;
  for (std::size_t i = 0; i < std::min(p.classes.size(), d.simulated->classes.size()); ++i) {
    const ClassMetrics& c = d.simulated->classes[i];
    const Slo& slo = p.classes[i].slo;
    const auto figure = [&](const char* name, const std::optional<Seconds>& limit, const Summary& of) {
      return fmt::format("{} {}{}", name, text_of(statistic_of(of, p.statistic)),
                         limit ? " of " + text_of(*limit) : std::string());
    };
    text += fmt::format("{}: {}, {}, {}\n", c.name, figure("TTFT", slo.ttft, c.ttft), figure("TPOT", slo.tpot, c.tpot),
                        figure("E2EL", slo.e2el, c.e2el));
  }
  return text;
}

// Of the interval: "TTFT 120 to 380 ms"
std::string interval_text(const ServingPlan& p, const PlannedServing& d) {
  if (!d.fast || !d.slow) return "";
  const auto range = [&](const char* name, Summary ServingMetrics::*of) {
    return fmt::format("{} {} – {}", name, text_of(statistic_of((*d.fast).*of, p.statistic)),
                       text_of(statistic_of((*d.slow).*of, p.statistic)));
  };
  std::string text =
      fmt::format("80 % interval: {}, {}", range("TTFT", &ServingMetrics::ttft), range("TPOT", &ServingMetrics::tpot));
  if (d.chance) text += fmt::format("; the SLO is met with a chance of {}", percent(*d.chance));
  return text + "\n";
}

std::string break_text(const ServingPlan& p) {
  const BreakingPoint& b = p.breaks;
  if (b.rate == 0) return fmt::format("holds at {:g} times the rate and more", std::round(std::pow(1.25, 16)));
  const auto at = [&](double rate) {
    return fmt::format("at {:.3g} requests/s ({:+.0f} %)", rate, 100 * (rate / p.finalists[*p.best].rate - 1));
  };
  // A run is over before a queue that grows without end is long.
  if (b.limit != Limit::none && b.saturation < b.rate)
    return fmt::format("saturates {}: {}; simulated runs, which end, miss {} from {:.3g} on", at(b.saturation),
                       name_of(b.limit), b.objective, b.rate);
  std::string text = fmt::format("breaks first: {}, {}", b.objective, at(b.rate));
  if (b.cache_full) text += ", the cache full";
  if (b.limit != Limit::none) text += fmt::format("; saturates at {:.3g}: {}", b.saturation, name_of(b.limit));
  return text;
}

std::string what_text(const PlannedServing& d) {
  return fmt::format("{} × {}, {} {}, {}", d.gpus, d.gpu, name_of(d.engine), formats_text(d), spread_text(d));
}
std::string price_text(const PlannedServing& d) {
  return d.usd_per_hour ? fmt::format(", {} an hour", text_of_usd(*d.usd_per_hour)) : "";
}

// What comes nearest, and what is in the way.
std::string none_text(const ServingPlan& p, std::optional<double> chance) {
  std::string text = "none meets the objectives";
  if (chance) text += fmt::format(" with a chance of {}", percent(*chance));
  if (!p.nearest && !p.attainable)
    return text + (p.too_dear > 0           ? "; the budget or the number of GPUs allows no copy of the model"
                   : p.unsuited > 0         ? "; " + p.does_not_suit
                   : p.does_not_fit.empty() ? "; no layout asked for suits the model and the GPUs"
                                            : "; the model does not fit any of the GPUs: " + p.does_not_fit);
  if (p.nearest) {
    const PlannedServing& d = *p.nearest;
    if (d.limit != Limit::none || d.simulated)
      text += fmt::format("; nearest: {}: {}{}{}", what_text(d),
                          d.in_the_way.empty() ? "meets them" : "in the way is " + d.in_the_way,
                          d.chance ? fmt::format(", chance {}", percent(*d.chance)) : "", price_text(d));
  }
  if (p.attainable)
    text += fmt::format("; attainable: {:.3g} requests/s with {}{}", p.attainable->rate, what_text(*p.attainable),
                        price_text(*p.attainable));
  return text;
}

std::string_view best_word(ServingObjective o, bool priced) {
  if (o == ServingObjective::cost && !priced) return "fewest GPUs for its chance (no price is known)";
  switch (o) {
    case ServingObjective::load: return "most load";
    case ServingObjective::throughput: return "best throughput of a GPU";
    case ServingObjective::energy: return "least energy";
    case ServingObjective::cost: break;
  }
  return "cheapest for its chance";
}

std::string best_text(const ServingPlan& p, const PlannedServing& d) {
  std::string text = fmt::format("{}: {}", best_word(p.objective, d.usd_per_hour.has_value()), what_text(d));
  if (p.objective == ServingObjective::load) text += ": " + text_of_rate(d.rate) + " requests/s";
  if (d.usd_per_hour && d.usd_per_million_tokens)
    text += fmt::format(": {} an hour, {} a million output tokens", text_of_usd(*d.usd_per_hour),
                        text_of_usd(*d.usd_per_million_tokens));
  if (const auto& energy = d.simulated->energy; energy && energy->per_token)
    text += ", " + text_of_energy(*energy->per_token) + " an output token";
  text += "\n";
  if (p.slo.any()) text += "margin: " + margin_text(p, d) + "\n";
  text += classes_text(p, d) + interval_text(p, d);
  if (p.any_objective()) text += break_text(p) + "\n";
  for (const std::string& note : p.prices)
    if (note.starts_with(d.gpu + " ")) text += "price: " + note + "\n";
  return text;
}

// Many servers differ in devices and ports only: the first few, and where to find the rest.
std::string launch_text(const PlannedServing& d) {
  constexpr std::size_t kMostLines = 6;
  std::string text = fmt::format("\nstart it with ({}):\n", d.release);
  for (std::size_t i = 0; i < d.launch.size(); ++i) {
    if (d.launch.size() > kMostLines && i == kMostLines - 2 && i + 2 < d.launch.size()) {
      text += fmt::format("  # ... {} lines more: --save-dir writes the whole script\n", d.launch.size() - i - 1);
      i = d.launch.size() - 1;
    }
    text += "  " + d.launch[i] + "\n";
  }
  return text;
}

std::string plan_load_text(const PlanServeQuery& q, const ServingPlan& p) {
  const bool talks = !q.requests.turns.empty();
  const std::string lengths =
      q.trace.empty() ? fmt::format("input {}, output {}", q.load.input, q.load.output) : "requests of " + q.trace;
  std::string text = p.model + ", ";
  if (p.rate > 0) text += fmt::format("{:.4g} {}/s, ", p.rate, talks ? "conversations" : "requests");
  text += lengths;
  if (p.slo.any()) text += ": " + objectives_text(p);
  return text + "\n";
}

}  // namespace

std::string spread_words(const PlannedServing& d) {
  return fmt::format("{}, {}, {}", name_of(d.engine), formats_text(d), spread_text(d));
}

std::string memory_words(const PlannedServing& d) {
  const auto of = [](const ServingPool& p) {
    return fmt::format("{:.0f} + {:.0f}", in_gibibytes(p.memory.weights), in_gibibytes(p.memory.cache));
  };
  return d.prefill ? of(*d.prefill) + "; " + of(d.pool) : of(d.pool);
}

Error no_deployment(const PlanServeQuery& q, const ServingPlan& p) {
  return field_error(
      "slo",
      fmt::format("{} tried ({}, {} with any number of GPUs allowed): {}", counted(p.tried, "deployment"),
                  counted(p.too_large, "setup does not fit", "setups do not fit"),
                  counted(p.too_slow, "misses", "miss"), none_text(p, q.min_chance)),
      (p.format_cause.empty() ? "relax the objectives" : p.format_cause + ", or relax the objectives") +
          ", or allow more GPUs or a larger --budget");
}

std::string plan_serve_text(const PlanServeQuery& q, const ServingPlan& p) {
  std::string text = plan_load_text(q, p);
  text += fmt::format("{} tried; {}, {} with any number of GPUs allowed; {} simulated\n",
                      counted(p.tried, "deployment"), counted(p.too_large, "setup does not fit", "setups do not fit"),
                      counted(p.too_slow, "misses", "miss"), p.finalists.size());
  if (p.unsuited > 0)
    text += fmt::format("{} ruled out: {}\n", counted(p.unsuited, "setup is", "setups are"), p.does_not_suit);
  for (const std::string& note : p.notes) text += note_word("Note:") + " " + note + "\n";
  text += "\n";
  if (!p.best) return text + none_text(p, q.min_chance) + "\n";
  text += fmt::format("{} against latency (simulated):\n", name_of(p.objective)) + table_text(p, p.front) + "\n";
  const PlannedServing& d = p.finalists[*p.best];
  return text + best_text(p, d) + launch_text(d);
}

}  // namespace tilecast
