// What a PyTorch profiler tells of a collective (libkineto/src/output_json.cpp): its name, elements sent
// and received by this rank, their type, and the ranks of its group.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cluster/collective.h"

namespace tilecast {

struct RecordedExchange {
  CollectiveOp op = CollectiveOp::all_reduce;
  Bytes bytes;      // as nccl-tests' size (cluster/collective.h)
  bool integers = false;
  int ranks = 2;
  std::vector<int> members;  // global ranks, as far as the file lists them; may be empty

  // The highest rank, and so how many GPUs the cluster must at least have.
  int gpus_needed() const;
  // On nodes of so many GPUs: members that share the first one's, where others stand between them; else 0, which is
  // Collective::local's word for neighbours.
  int local_on(int gpus_per_node) const;
};

// Of WorkKind::exchange: "allreduce|1024|1024|BFloat16|8|[0, 1, 2, 3, 4, 5, 6, 7]". Nothing for what we do not forecast
// (barriers, gathers to one rank) or what does not say enough.
std::optional<RecordedExchange> exchange_from(std::string_view text);

}  // namespace tilecast
