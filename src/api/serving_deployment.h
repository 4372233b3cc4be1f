// The deployment that a simulation's query describes.
#pragma once

#include "serve/deployment.h"
#include "tilecast/serving.h"

namespace tilecast {

// Where a replica lies, and how its engine is set up. Errors name the query's field.
Result<DeploymentOptions> deployment_from(const SimulateQuery& query);

// The format that a checkpoint is saved in.
std::string own_format(const ModelSpec& model);
// Formats of a deployment by name.
Result<Precision> serving_precision(const ModelSpec& model, const std::string& dtype, KvDtype kv_dtype);

}  // namespace tilecast
