#include <nlohmann/json.hpp>

#include "service/mcp/lines.h"
#include "service/mcp/protocol.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_mcp_lines(std::string_view input) {
  constexpr std::size_t kLongest = 4096;
  McpProtocol protocol(false);
  std::string wrong;
  BoundedLines lines(kLongest, [&](std::string_view line, bool too_long) {
    McpStep step = too_long ? McpStep(McpProtocol::too_long()) : protocol.take(line);
    if (const auto* call = std::get_if<McpCall>(&step)) {
      if (!nlohmann::json::parse(call->arguments, nullptr, false).is_object()) wrong = "arguments that are no object";
      step = McpProtocol::answered(*call, error("not asked here"));
    }
    const auto* message = std::get_if<std::string>(&step);
    if (!message) return;
    const auto parsed = nlohmann::json::parse(*message, nullptr, false);
    if (message->find('\n') != std::string::npos) wrong = "a message of several lines";
    if (!parsed.is_object() || parsed.contains("result") == parsed.contains("error"))
      wrong = "a message that is no response";
  });
  lines.put(input.substr(0, input.size() / 2));
  lines.put(input.substr(input.size() / 2));
  lines.finish();
  return wrong;
}

}  // namespace tilecast
