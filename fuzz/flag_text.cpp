#include <cmath>

#include "api/serving_text.h"
#include "cli/commands/predict_command.h"
#include "cli/commands/simulate_command.h"
#include "engine/precision.h"
#include "lab/evaluate/evaluate.h"
#include "serve/workload.h"
#include "targets.h"
#include "tilecast/step.h"
#include "tune/engine_file.h"

namespace tilecast {
namespace {

template <class T>
std::string wrong_with(const Result<T>& read) {
  return !read && read.error().line().empty() ? "an error without a text" : "";
}

std::string wrong_with_slo(const std::string& text) {
  const auto slo = slo_from(text);
  if (!slo) return wrong_with(slo);
  for (const auto& time : {slo->ttft, slo->tpot, slo->e2el})
    if (time && !(in_seconds(*time) > 0 && std::isfinite(in_seconds(*time)))) return "an objective that is no time";
  return "";
}

std::string wrong_with_sweep(const std::string& text) {
  const auto sweep = sweep_from(text);
  if (!sweep) return wrong_with(sweep);
  if (sweep->values.empty() || sweep->values.size() > 64) return "a sweep of no or too many loads";
  for (const double value : sweep->values)
    if (!(value > 0) || !std::isfinite(value)) return "a load that is none";
  return "";
}

std::string wrong_with_lengths(const std::string& text) {
  const auto lengths = lengths_from(text, "input");
  if (!lengths) return wrong_with(lengths);
  WorkloadOptions options;
  options.requests = 4, options.input = *lengths, options.output = *lengths;
  const auto requests = generate(options);
  if (!requests) return wrong_with(requests);
  for (const Request& r : *requests)
    if (r.input < 1 || r.output < 1) return "a request without tokens";
  return "";
}

std::string wrong_with_requests(const std::string& text) {
  StepQuery query;
  query.model = "gpt2", query.gpu = "H100-SXM", query.mode = Mode::mixed, query.requests = text;
  return wrong_with(setting_of(query));
}

}  // namespace

std::string fuzz_flag_text(std::string_view input) {
  const std::string text(input.substr(0, 4096));
  for (const auto wrong_with_text : {wrong_with_slo, wrong_with_sweep, wrong_with_lengths, wrong_with_requests})
    if (std::string wrong = wrong_with_text(text); !wrong.empty()) return wrong;
  for (const std::string& wrong :
       {wrong_with(keys_from(text)), wrong_with(engine_from(text)), wrong_with(precision_from(text, "")),
        wrong_with(precision_from("bf16", text)), wrong_with(triton_folder(text))})
    if (!wrong.empty()) return wrong;
  return "";
}

}  // namespace tilecast
