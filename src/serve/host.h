// What the engine's host program adds to the GPU's time of a step, and how it shapes the batch.
#pragma once

#include <vector>

#include "engine/kinds.h"
#include "tilecast/units.h"

namespace tilecast {

struct HostTimes {
  // Between a request's being sent and the scheduler's seeing it. The front end takes requests one at a time.
  Seconds receive;           // on the way, requests side by side: HTTP, queues between processes
  Seconds per_request;       // one at a time: parsing, tokenising
  Seconds per_prompt_token;  // ... and for each token of the prompt
  // ... and for each request that streams its answer meanwhile: event loops of server and client handle a step's tokens
  // before they go on with whoever has come.
  Seconds per_streaming;
  Seconds reply;  // a token's way back to the client: from the step's end through detokeniser and HTTP
  // Each step: scheduling, preparing inputs, sampling's results, handing tokens on.
  Seconds per_step;
  Seconds per_sequence;
  Count dear = 0;  // the first so many sequences cost that much each, others `per_further`; 0: all
  Seconds per_further;
  Seconds per_launch;      // of an operator that no captured graph holds
  bool overlapped = true;  // the next step is planned and prepared while this one runs
  Seconds gap;             // what stands between two steps even then: the graph's launch, the sampled tokens' way back

  // Batch sizes that graphs were captured for, ascending; a smaller batch is padded to the next. Empty: none.
  std::vector<Count> graphs;
  bool graphs_for_prompts = false;  // steps with prompts are padded too (vLLM's piecewise graphs)
};

// All of a step's planning and handing on.
Seconds between_steps(const HostTimes& host, Count sequences);

// `most_captured`: the largest batch with a graph, where a flag says (vLLM's max_cudagraph_capture_size, SGLang's
// cuda_graph_max_bs); 0: the engine's own choice.
HostTimes host_times(EngineKind engine, Count max_sequences, Count max_tokens, Count most_captured = 0);

// The captured size for this many tokens; 0 where none is large enough.
Count captured_size(const std::vector<Count>& graphs, Count tokens);

}  // namespace tilecast
