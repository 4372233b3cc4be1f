// Deployments that their steady states say are worth simulating.
#pragma once

#include <map>

#include "serve/plan.h"

namespace tilecast {

// Counts what it tries in a plan, which it also gives the nearest of those that miss.
class CandidateSearch {
 public:
  CandidateSearch(const ServeQuery& query, ServePlan& plan) : q_(query), plan_(plan), slo_(query.steady_slo()) {}

  using Setups = std::vector<std::shared_ptr<const ServeSetup>>;
  // Set-ups of one GPU. `progress` hears the share that is done, and may end the search.
  Status search(const Setups& setups, const Watch& progress = {});
  // Best first: of those that cost the same a few, and none that another of the same GPU beats by the objective and in
  // both times.
  std::vector<PlannedDeployment> best() &&;

  // One copy of each set-up at several loads, by its steady state.
  std::vector<std::pair<ParetoPoint, PlannedDeployment>> pareto(const Setups& setups);

  // As many as the GPUs and the budget allow.
  Count most_copies(const ServeSetup& setup) const;
  // With its steady state at a rate.
  PlannedDeployment evaluated(PlannedPool pool, std::optional<PlannedPool> prefill, double rate);

 private:
  PlannedDeployment deployment_of(PlannedPool pool, std::optional<PlannedPool> prefill) const;
  bool asks_for_a_rate() const {
    return q_.objective == ServingObjective::cost || q_.objective == ServingObjective::energy;
  }
  // Whether many fewer of the same GPU are known to do.
  bool far_too_large(const ServeSetup& setup) const;
  double margin_of(const PlannedDeployment& d) const { return margin_of(d, slo_); }
  double margin_of(const PlannedDeployment& d, const Slo& slo) const;
  void keep(PlannedDeployment d, bool fits);

  // The smallest number of copies that meets the SLO at the query's rate, or nearly does, and some more for the front.
  void size_together(const std::shared_ptr<const ServeSetup>& setup);
  void size_apart(const Setups& setups);
  // The highest rate that so many copies serve within the SLO.
  void fill_together(const std::shared_ptr<const ServeSetup>& setup);
  void fill_apart(const Setups& setups);
  double highest_rate(const PlannedPool& pool, const std::optional<PlannedPool>& prefill, const Slo& slo);

  const ServeQuery& q_;
  ServePlan& plan_;
  Slo slo_;
  std::vector<PlannedDeployment> found_;
  std::map<std::size_t, int> fewest_;  // GPUs of a kind, by its place in the query, that meet the SLO by steady states
};

}  // namespace tilecast
