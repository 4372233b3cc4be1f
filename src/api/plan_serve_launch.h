// How the servers of a planned deployment are started.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "serve/launch_files.h"
#include "serve/plan.h"
#include "tilecast/plan.h"

namespace tilecast {

class PlanLaunches {
 public:
  // Of plans of this query; both outlive it.
  PlanLaunches(const PlanServeQuery& asked, const ServeQuery& query);

  // `planned`: the deployment as its reader sees it, whose figures stand above every file.
  DeploymentLaunch of(const PlannedDeployment& d, const PlannedServing& planned) const;
  // What servers refuse though the model takes it: their cache might not hold it. Empty where there is nothing.
  std::string shorter_than_the_model(const PlannedDeployment& d) const;
  // Whether its files need no name that nobody knows.
  bool complete(const std::shared_ptr<const ServeSetup>& setup) const;

 private:
  // Of one model and one longest request for all pools.
  std::vector<LaunchOptions> launch_options(const PlannedDeployment& d) const;
  LaunchOptions launch(const PlannedPool& pool, ServerRole role) const;
  LaunchFeatures features(const ServeSetup& s) const;
  std::vector<std::string> headline(const PlannedDeployment& d, const PlannedServing& planned) const;

  const ServeQuery& query_;
  std::string checkpoint_, draft_checkpoint_;
  std::map<std::string, std::string> published_;
};

}  // namespace tilecast
