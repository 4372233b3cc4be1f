#include "service/mcp/protocol.h"

#include <array>
#include <nlohmann/json.hpp>

#include "service/mcp/tools.h"
#include "support/json.h"
#include "support/json_value.h"
#include "tilecast/version.h"

namespace tilecast {
namespace {

using Value = nlohmann::ordered_json;

// Newest first: what a client is offered whose own is none of them.
constexpr std::array<std::string_view, 2> kGreetedRevisions = {"2025-11-25", "2025-06-18"};
constexpr std::string_view kRevision = "2026-07-28";

// JSON-RPC 2.0, section 5.1; the last is the protocol's own (2026-07-28, basic/index, error codes).
enum Code : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kUnknownMethod = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kUnsupportedRevision = -32022,
};

constexpr const char* kInstructions =
    "Forecasts how long deep-learning work takes on GPUs, with 80 % intervals: kernels, whole models, collectives, "
    "serving and training. "
    "Ask gpus, models and clusters for the names that the other tools take. A description may stand in place of a "
    "GPU's, a cluster's or a "
    "model's name. Answers with \"seen\": false are of cards or kernels that nothing was measured on.";

std::string line_of(const Value& message) { return message.dump(-1, ' ', false, Value::error_handler_t::replace); }

std::string error_line(const Value& id, int code, const std::string& message, const Value& data = nullptr) {
  Value reply{{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
  if (!data.is_null()) reply["error"]["data"] = data;
  return line_of(reply);
}

Value server_info() { return {{"name", "tilecast"}, {"title", "Tilecast"}, {"version", version()}}; }

std::string result_line(const Value& id, Value result, bool names_itself) {
  if (names_itself) {
    result["resultType"] = "complete";
    result["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info();
  }
  return line_of({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

// Tools stay as they are for as long as the program is the same; an hour is long enough.
void add_caching(Value& result) {
  result["ttlMs"] = 3600000;
  result["cacheScope"] = "public";
}

const Value* member(const Value& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

bool is_id(const Value& id) { return id.is_string() || id.is_number_integer(); }

}  // namespace

struct McpProtocol::Request {
  Value id;
  std::string method;
  Value params = Value::object();
  bool modern = false;  // says in itself which revision it speaks

  std::string refuse(int code, const std::string& message, const Value& data = nullptr) const {
    return error_line(id, code, message, data);
  }
};

std::string McpProtocol::too_long() { return error_line(nullptr, kInvalidRequest, "the message is too long"); }

std::string McpProtocol::busy(const McpCall& call) {
  return error_line(Value::parse(call.id), kInternalError, "too many calls are waiting; try again later");
}

std::string McpProtocol::answered(const McpCall& call, const Result<std::string>& answer) {
  Value result;
  if (answer) {
    Value document = Value::parse(*answer, nullptr, false);
    result["content"] = Value::array({{{"type", "text"}, {"text", line_of(document)}}});
    // Before 2026-07-28 it had to be an object.
    result["structuredContent"] = document.is_object() ? std::move(document) : Value{{"answers", std::move(document)}};
    result["isError"] = false;
  } else {
    const Error& e = answer.error();
    result["content"] = Value::array({{{"type", "text"}, {"text", e.line()}}});
    result["structuredContent"] = {{"error", {{"message", e.problem}, {"field", e.field}, {"remedy", e.remedy}}}};
    result["isError"] = true;
  }
  return result_line(Value::parse(call.id), std::move(result), call.names_itself);
}

std::string McpProtocol::progress(const McpCall& call, double share) {
  return line_of({{"jsonrpc", "2.0"},
                  {"method", "notifications/progress"},
                  {"params",
                   {{"progressToken", Value::parse(call.progress_token)},
                    {"progress", share},
                    {"total", 1},
                    {"message", call.question}}}});
}

McpStep McpProtocol::take(std::string_view line) {
  if (line.find_first_not_of(" \t") == std::string_view::npos) return {};
  // Checked for depth before it is read in order.
  if (const auto fine = parse_json(line, "message"); !fine)
    return error_line(nullptr, kParseError, fine.error().line());
  const Value message = Value::parse(line, nullptr, false);
  const Value* jsonrpc = member(message, "jsonrpc");
  const Value* method = member(message, "method");
  const Value* id = member(message, "id");
  if (!message.is_object() || !jsonrpc || *jsonrpc != "2.0")
    return error_line(nullptr, kInvalidRequest, "is not a message of JSON-RPC 2.0");
  if (!method && id && (member(message, "result") || member(message, "error")))
    return {};  // a response, of which none is awaited
  if (id && !is_id(*id)) return error_line(nullptr, kInvalidRequest, "id must be a text or a whole number");
  if (!method || !method->is_string()) return error_line(id ? *id : Value(), kInvalidRequest, "method must be a text");
  Request request{id ? *id : Value(), method->get<std::string>()};
  if (const Value* params = member(message, "params")) request.params = *params;
  if (!id) {
    const Value* cancelled =
        request.method == "notifications/cancelled" ? member(request.params, "requestId") : nullptr;
    if (cancelled && is_id(*cancelled)) return McpCancel{cancelled->dump()};
    return {};
  }
  if (!request.params.is_object()) return request.refuse(kInvalidParams, "params must be an object");
  return take_request(request);
}

McpStep McpProtocol::take_request(const Request& given) {
  Request request = given;
  if (request.method == "initialize") return initialize(request);
  const Value* meta = member(request.params, "_meta");
  if (const Value* revision = meta ? member(*meta, "io.modelcontextprotocol/protocolVersion") : nullptr) {
    if (*revision != kRevision)
      return request.refuse(kUnsupportedRevision, "Unsupported protocol version",
                            {{"supported", Value::array({kRevision})}, {"requested", *revision}});
    const Value* capabilities = member(*meta, "io.modelcontextprotocol/clientCapabilities");
    if (!capabilities || !capabilities->is_object())
      return request.refuse(kInvalidParams, "_meta lacks io.modelcontextprotocol/clientCapabilities");
    request.modern = true;
  }
  if (!request.modern && request.method == "ping") return result_line(request.id, Value::object(), false);
  if (!request.modern && !greeted_)
    return request.refuse(kInvalidParams,
                          "send initialize first, or say in _meta which revision of the protocol this is");
  if (request.modern && request.method == "server/discover") {
    Value result{{"supportedVersions", Value::array({kRevision})},
                 {"capabilities", {{"tools", Value::object()}}},
                 {"serverInfo", server_info()},
                 {"instructions", kInstructions}};
    add_caching(result);
    return result_line(request.id, std::move(result), true);
  }
  if (request.method == "tools/list") return tools(request);
  if (request.method == "tools/call") return take_call(request);
  return request.refuse(kUnknownMethod, "there is no method " + request.method);
}

std::string McpProtocol::initialize(const Request& request) {
  const Value* asked = member(request.params, "protocolVersion");
  if (!asked || !asked->is_string())
    return request.refuse(kInvalidParams, "protocolVersion must be a text", {{"supported", kGreetedRevisions}});
  if (greeted_) return request.refuse(kInvalidRequest, "was initialized before");
  greeted_ = true;
  std::string_view revision = kGreetedRevisions.front();
  for (const std::string_view known : kGreetedRevisions)
    if (*asked == known) revision = known;
  return result_line(request.id,
                     {{"protocolVersion", revision},
                      {"capabilities", {{"tools", Value::object()}}},
                      {"serverInfo", server_info()},
                      {"instructions", kInstructions}},
                     false);
}

std::string McpProtocol::tools(const Request& request) const {
  if (const Value* cursor = member(request.params, "cursor"); cursor && !cursor->is_null())
    return request.refuse(kInvalidParams, "the list has one page and no cursor");
  Value result{{"tools", Value::parse(tool_list(paths_).dump())}};
  if (request.modern) add_caching(result);
  return result_line(request.id, std::move(result), request.modern);
}

McpStep McpProtocol::take_call(const Request& request) const {
  const Value* name = member(request.params, "name");
  if (!name || !name->is_string()) return request.refuse(kInvalidParams, "name must be a text");
  const QuestionForm* form = tool_question(name->get_ref<const std::string&>());
  if (!form) return request.refuse(kInvalidParams, "Unknown tool: " + name->get<std::string>());
  const Value* arguments = member(request.params, "arguments");
  if (arguments && !arguments->is_object()) return request.refuse(kInvalidParams, "arguments must be an object");
  McpCall call{request.id.dump(), form->name, arguments ? line_of(*arguments) : "{}", "", request.modern};
  const Value* meta = member(request.params, "_meta");
  if (const Value* token = meta ? member(*meta, "progressToken") : nullptr; token && is_id(*token))
    call.progress_token = token->dump();
  return call;
}

}  // namespace tilecast
