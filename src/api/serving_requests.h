// What a query says of its requests: who sends them, and what they ask for beside tokens.
#pragma once

#include <string>
#include <vector>

#include "api/declare.h"
#include "model/tower.h"
#include "serve/deployment_features.h"
#include "serve/simulator.h"
#include "tilecast/serving.h"

namespace tilecast {

void declare_requests(Declare& list, RequestQuery& query);
void declare_drafts(Declare& list, DraftQuery& query);

// What concerns more than one field.
Status check_requests(const SimulateQuery& query);

// "chat:share=0.8,priority=0,ttft=500ms,tpot=30ms;batch:share=0.2,priority=1".
Result<std::vector<RequestClass>> classes_from(const std::string& text);

struct AskedRequests {
  std::vector<Request> requests;
  SharedPaths paths;
};
// Drawn, or of the query's trace. `media_tokens`: of one image or clip.
Result<AskedRequests> requests_from(const SimulateQuery& query, const std::vector<RequestClass>& classes,
                                    Count media_tokens, std::vector<std::string>& notes);

// What the model makes of the query's images or sound.
Result<MediaTower> tower_from(const SimulateQuery& query);

Status set_patience(SimulationOptions& simulation, const RequestQuery& query);
Result<FeatureOptions> features_from(const SimulateQuery& query, const DeploymentOptions& deployment);

}  // namespace tilecast
