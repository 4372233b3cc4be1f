// What a simulation's query says about replicas, tiers of the cache and layouts of pools (FleetQuery).
#pragma once

#include "api/declare.h"
#include "serve/deployment.h"
#include "tilecast/serving.h"

namespace tilecast {

void declare_prefix_router(Declare& list, FleetQuery& fleet);  // its thresholds
void declare_autoscale(Declare& list, FleetQuery& fleet);
void declare_rank_variants(Declare& list, FleetQuery& fleet);  // copies of experts, shared keys
void declare_offload(Declare& list, FleetQuery& fleet);
void declare_pool_layouts(Declare& list, FleetQuery& fleet);

// "target=32,min=1,max=8,signal=queue,interval=15s,cooldown=300s,startup=90s"; empty: none. What is not said: a minimum
// of one, a maximum of as many as `replicas` but two at least, Kubernetes' own intervals, and `start_up`.
Result<std::optional<AutoscaleOptions>> autoscale_from(const std::string& text, Count replicas, Seconds start_up);

OffloadOptions offload_from(const FleetQuery& fleet);
// What concerns the fleet and more than one field.
Status check_fleet(const SimulateQuery& query);
// The query of the pool for prompts, whose ranks may lie otherwise.
SimulateQuery prefill_query(const SimulateQuery& query);
bool prefill_differs(const SimulateQuery& query);
// The link between pools of the cluster that the ranks lie in, or the one known of the GPU.
Result<KvLink> link_from(const SimulateQuery& query, const DeploymentOptions& deployment);

}  // namespace tilecast
