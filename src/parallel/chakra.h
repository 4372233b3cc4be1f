// Execution traces of MLCommons Chakra, which ASTRA-sim runs as they are (docs/chakra.md): a file a rank, and one that
// says which ranks form a group.
#pragma once

#include <functional>
#include <string>

#include "parallel/astra_sim.h"
#include "parallel/step_trace.h"
#include "tilecast/result.h"

namespace tilecast {

// ASTRA-sim numbers the messages of group g from 1,000,000 g on, in an int (system/CommunicatorGroup.cc).
inline constexpr int kMostChakraGroups = 2147;

// The content of `<prefix>.<rank>.et`.
std::string chakra_trace(const RankTrace& trace, const CommGroups& groups);
// The content of `<prefix>.json`: {"1": [0, 1], "2": [2, 3]}. Group 0 is ASTRA-sim's own name for all ranks.
std::string chakra_groups(const CommGroups& groups);

// Refuses more groups than ASTRA-sim has numbers for.
Status check_chakra_groups(const CommGroups& groups);
// Writes `groups` to `<prefix>.json` and the texts that `trace_of` makes to `<prefix>.<rank>.et`, one in memory at a
// time, and `beside` under their own names. All of them or, where one cannot be written, none.
Status write_chakra_files(const std::string& folder, const std::string& prefix, const std::string& groups, int ranks,
                          const std::function<std::string(int rank)>& trace_of,
                          const std::vector<NamedText>& beside = {});

// Writes both for ranks 0 to ranks-1, one trace in memory at a time. All of them or, where one cannot be written, none.
Status write_chakra(const std::string& folder, const std::string& prefix, const CommGroups& groups, int ranks,
                    const std::function<RankTrace(int rank)>& trace_of);

}  // namespace tilecast
