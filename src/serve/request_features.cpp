#include "serve/request_features.h"

#include <algorithm>

#include "constants/serve.h"
#include "serve/scheduler.h"

namespace tilecast {

StepExtra extra_of(const RequestFeatures& f, const StepBatch& batch) {
  StepExtra extra;
  const auto add = [&](const RequestFeatures::Cost& cost) {
    const StepCost::Spent spent = cost(batch);
    extra.gpu += spent.time;
    extra.joules += spent.joules;
  };
  if (batch.adapters > 0 && f.adapters) add(f.adapters);
  if (f.drafts) add(f.drafts);
  if (batch.encodes > 0 && f.encoder) add(f.encoder);
  extra.host = f.draft_on_host * static_cast<double>(batch.decodes) +
               microseconds(constants::kGuidedOnHost) * static_cast<double>(batch.guided);
  extra.before = f.adapter_swap * static_cast<double>(batch.swaps);
  return extra;
}

bool AdapterSlots::bring(std::int32_t adapter) {
  if (const auto there = place_.find(adapter); there != place_.end()) {
    order_.splice(order_.end(), order_, there->second);
    return false;
  }
  if (static_cast<Count>(order_.size()) >= slots_) {
    place_.erase(order_.front());
    order_.pop_front();
  }
  place_[adapter] = order_.insert(order_.end(), adapter);
  return true;
}

void AdapterSlots::note(StepPlan& plan) {
  if (slots_ == 0) return;
  std::vector<std::int32_t> used;
  std::size_t chunk = 0;
  for (const PlannedItem& item : plan.items) {
    const Count tokens = item.prompt ? plan.batch.prefill[chunk++].fresh : plan.batch.decode_tokens;
    const std::int32_t adapter = item.sequence->request.adapter;
    if (adapter < 0) continue;
    plan.batch.adapter_tokens += tokens;
    if (std::find(used.begin(), used.end(), adapter) == used.end()) used.push_back(adapter);
  }
  plan.batch.adapters = static_cast<Count>(used.size());
  for (const std::int32_t adapter : used) plan.batch.swaps += bring(adapter);
}

}  // namespace tilecast
