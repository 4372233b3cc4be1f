#include "learn/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "serve/metrics.h"

namespace tilecast {
namespace {

// Cases whose steps are the same: all that their times depend on, and nothing that only bounds batches.
std::string key_of(const DeploymentOptions& o) {
  const Precision& p = o.engine.precision;
  const std::string spread = o.spread ? o.spread->cluster.name + text_of(o.spread->layout) : std::string();
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", o.model.name, name_of(o.engine.kind), static_cast<int>(o.engine.era),
                     o.gpu.name, spread, p.linear.name, p.experts.name, p.attention.name, static_cast<int>(p.cache));
}

Result<std::vector<Request>> requests_of(const ServingCase& one, const std::vector<Request>& people) {
  WorkloadOptions w;
  w.requests = one.requests;
  if (one.lengths.of_people) return resampled(people, one.lengths.input, one.lengths.output, w);
  const auto lengths = [&](double longest) {
    const double least = longest * one.lengths.least, mean = (longest + least) / 2;
    LengthDistribution d;
    d.mean = std::max<Count>(1, std::llround(mean));
    if (one.lengths.least < 1) d.kind = LengthDistribution::Kind::uniform, d.spread = (longest - mean) / mean;
    return d;
  };
  w.input = lengths(one.lengths.input), w.output = lengths(one.lengths.output);
  return generate(w);
}

// A first round before the others, whose answers end one after the other over the length of an answer.
void stagger(std::vector<Request>& requests, std::size_t first) {
  std::vector<Request> round(first, requests.front());
  for (std::size_t i = 0; i < first; ++i)
    round[i].output = 1 + static_cast<Count>(i) * round[i].output / static_cast<Count>(first);
  requests.insert(requests.begin(), round.begin(), round.end());
}

class Judge {
 public:
  explicit Judge(const ServingInputs& inputs) : inputs_(inputs) {}

  Result<ServingMetrics> run(const ServingCase& one) {
    auto pool = deployed(one.deployment);
    if (!pool) return std::move(pool).error();
    SimulationOptions options;
    options.pool = *pool;
    options.concurrency = one.concurrency;
    if (one.prefill) {
      auto prompts = deployed(*one.prefill);
      if (!prompts) return std::move(prompts).error();
      options.prefill = *prompts;
      options.link = {one.deployment.spread->cluster.intra.bandwidth, microseconds(50)};
    }
    auto requests = requests_of(one, inputs_.people);
    if (!requests) return std::move(requests).error();
    // The first round has answers cut at random places: requests are then out of step, and it is not counted.
    const auto first = one.staggered ? static_cast<std::size_t>(one.concurrency) : 0;
    if (one.staggered) stagger(*requests, first);
    auto outcome = simulate(*requests, options);
    if (!outcome) return std::move(outcome).error();
    outcome->requests.erase(outcome->requests.begin(), outcome->requests.begin() + static_cast<std::ptrdiff_t>(first));
    const ServingMetrics m = metrics_of(*outcome);
    if (m.completed == 0) return error("no request could be served");
    return m;
  }

 private:
  // The limits and the cache are the case's own, the step times those of the first like it.
  Result<PoolOptions> deployed(const DeploymentOptions& o) {
    const std::string key = key_of(o);
    const auto known = tables_.find(key);
    auto made = deploy(o, inputs_.method, inputs_.weights, known == tables_.end() ? nullptr : known->second.get());
    if (!made) return std::move(made).error();
    if (made->steps) tables_[key] = std::move(made->steps);
    return made->pool;
  }

  const ServingInputs& inputs_;
  std::map<std::string, std::unique_ptr<StepTable>> tables_;
};

double figure_of(const ServingMetrics& m, const std::string& name) {
  if (name == "ttft") return m.ttft.mean;
  if (name == "ttft_median") return m.ttft.median;
  if (name == "tpot") return m.tpot.mean;
  return m.output_throughput;
}

}  // namespace

Result<std::vector<EndToEndResult>> judge_serving(const std::vector<ServingCase>& cases, const ServingInputs& inputs,
                                                  std::vector<std::string>& refused) {
  Judge judge(inputs);
  std::vector<EndToEndResult> results;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ServingCase& one = cases[i];
    if (inputs.progress) inputs.progress(i, cases.size());
    const auto metrics = judge.run(one);
    if (!metrics) {
      refused.push_back(fmt::format("{} on {} under {}: {}", one.label.model, one.label.gpu, one.label.engine,
                                    metrics.error().line()));
      continue;
    }
    for (const auto& [name, value] : one.measured) {
      EndToEndResult r;
      r.label = one.label, r.quantity = name, r.measured = value;
      r.forecast = figure_of(*metrics, name);
      results.push_back(std::move(r));
    }
  }
  return results;
}

}  // namespace tilecast
