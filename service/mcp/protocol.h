// Messages of the Model Context Protocol, one line each, to replies: no threads and no streams.
//
// Two kinds of clients are understood. Those of revisions 2025-11-25 and 2025-06-18 open with `initialize`
// (modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle); those of 2026-07-28 say in every request which
// revision they speak (modelcontextprotocol.io/specification/2026-07-28/basic/versioning).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "tilecast/result.h"

namespace tilecast {

// A tool that somebody calls.
struct McpCall {
  std::string id;              // the request's, as JSON
  std::string question;        // "plan serve"
  std::string arguments;       // a JSON object
  std::string progress_token;  // as JSON; empty: progress is not wanted
  bool names_itself = false;   // of revision 2026-07-28: results say what kind they are, and whose
};
// A call that nobody waits for any more.
struct McpCancel {
  std::string id;
};
using McpStep = std::variant<std::monostate, std::string, McpCall, McpCancel>;  // nothing, a message to send ...

class McpProtocol {
 public:
  // `paths`: tools take files of this machine by path.
  explicit McpProtocol(bool paths) : paths_(paths) {}

  McpStep take(std::string_view line);

  // Messages to send. None holds a newline.
  static std::string too_long();
  static std::string busy(const McpCall& call);
  static std::string answered(const McpCall& call, const Result<std::string>& answer);
  static std::string progress(const McpCall& call, double share);

 private:
  struct Request;
  McpStep take_request(const Request& request);
  McpStep take_call(const Request& request) const;
  std::string initialize(const Request& request);
  std::string tools(const Request& request) const;

  bool paths_;
  bool greeted_ = false;  // a client opened with `initialize`
};

}  // namespace tilecast
