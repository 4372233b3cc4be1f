// Requests from a file that somebody recorded.
//
// CSV with a header, or JSON lines, plain or gzip-compressed: one request a line, with when it arrived and its tokens.
// Names of several sources are known:
//
//   arrival      arrival, arrival_s (seconds), arrival_ms, arrival_time_ns, or timestamp: seconds, a date with a time
//                (Azure's traces), or milliseconds beside hash_ids or session_id (Mooncake's, AIPerf's)
//   input        input, input_tokens, input_length, input_toks, prompt_tokens, ContextTokens, num_prefill_tokens
//   output       output, output_tokens, output_length, output_toks, GeneratedTokens, num_decode_tokens
//   prefix, prefix_tokens (both optional): a number for a beginning that requests share, and its length
//   max_tokens, class, priority, adapter, images (all optional): as in Request
//
// Conversations: lines with the same `conversation` are turns, in order (`turn`, where given, counts them). A later one
// is sent `pause` seconds (pause_ms) after the answer before it has come, and not before its arrival where it has one.
// `new_tokens` is what it adds to the conversation; `input` is its whole prompt.
//
// Other forms (serve/trace_forms.cpp): hash_ids of blocks (Mooncake's, of 512 tokens; Bailian's, of 16, beside chat_id);
// AIPerf's session_id with delay in milliseconds, its input_length being what a turn adds, and its multi_turn lines
// with all `turns` of a session (release 0.13).
//
// The file is read line by line and never held; a request takes about a hundred bytes.
#pragma once

#include <string>
#include <vector>

#include "serve/workload.h"

namespace tilecast {

struct TraceOptions {
  Count most = 10'000'000;  // requests to read; the rest is left out, with a note
  Count output = 0;         // of turns that do not say it; 0: they are refused
  Count most_output = 0;    // of any answer; 0: no limit
};
struct Trace {
  std::vector<Request> requests;   // by arrival, the first at zero; turns behind those they follow
  SharedPaths paths;               // where blocks have hashes
  std::vector<std::string> notes;  // what was changed: sorted, cut
};
// A line that cannot be used is an error that names file and line.
Result<Trace> read_trace(const std::string& path, const TraceOptions& options = {});

}  // namespace tilecast
