// Requests from a file that somebody recorded.
//
// CSV with a header, or JSON lines, plain or gzip-compressed: one request a line, with when it arrived and its tokens.
// Names of several sources are known:
//
//   arrival      arrival, arrival_s (seconds), arrival_ms, arrival_time_ns, or timestamp: seconds, a date with a time
//                (Azure's traces), or milliseconds beside hash_ids (Mooncake's)
//   input        input, input_tokens, input_length, input_toks, prompt_tokens, ContextTokens, num_prefill_tokens
//   output       output, output_tokens, output_length, output_toks, GeneratedTokens, num_decode_tokens
//   prefix, prefix_tokens (both optional): a number for a beginning that requests share, and its length
//
// The file is read line by line and never held; a request takes 40 bytes.
#pragma once

#include <string>
#include <vector>

#include "serve/workload.h"

namespace tilecast {

struct TraceOptions {
  Count most = 10'000'000;  // requests to read; the rest is left out, with a note
};
struct Trace {
  std::vector<Request> requests;   // by arrival, the first at zero
  std::vector<std::string> notes;  // what was changed: sorted, cut
};
// A line that cannot be used is an error that names file and line.
Result<Trace> read_trace(const std::string& path, const TraceOptions& options = {});

}  // namespace tilecast
