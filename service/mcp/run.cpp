#include "service/mcp/run.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <mutex>

#include "answers/served.h"
#include "api/declare.h"
#include "service/mcp/calls.h"
#include "service/mcp/lines.h"
#include "service/mcp/protocol.h"
#include "support/input.h"

namespace tilecast {
namespace {

// A profiler's trace by value is tens of megabytes.
constexpr std::size_t kMostLine = std::size_t{256} << 20;
constexpr int kThreads = 2;
constexpr std::chrono::seconds kPatience{10};  // after the last input, for answers under way

// One message at a time, whole; once nobody reads, nothing.
class Output {
 public:
  void send(const std::string& message) {
    const std::string line = message + "\n";
    const std::lock_guard hold(lock_);
    std::string_view rest = line;
    while (!rest.empty() && !closed_) {
      const ssize_t sent = write(STDOUT_FILENO, rest.data(), rest.size());
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) closed_ = true;
      else rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  bool closed() const { return closed_; }

 private:
  std::mutex lock_;
  std::atomic<bool> closed_{false};
};

// Memory can run out anywhere; an assistant is to hear of it rather than lose its server.
Result<std::string> ask_tool(const McpCall& call, const std::function<void(double)>& progress, std::stop_token cancel) {
  try {
    return ask_served(call.question, std::string_view(call.arguments), {progress, std::move(cancel)});
  } catch (const std::exception& failure) {
    return error(std::string("failed: ") + failure.what(), "ask for less at once");
  }
}

}  // namespace

std::vector<BoundArgument> arguments_of(McpOptions& options) {
  Declare list;
  list.add(options.allow_files,
           {.name = "allow-files",
            .help = "folders whose files tools may read by path (default: none; files come by value)",
            .example = "traces"});
  return list.take();
}

const Question& mcp_question() {
  static const Question question{"mcp",
                                 "answer assistants over the Model Context Protocol, on standard input and output",
                                 {"mcp", "mcp --allow-files traces"}};
  return question;
}

Status run_mcp(const McpOptions& options) {
  for (const std::string& folder : options.allow_files)
    if (!something_at(folder)) return field_error("allow-files", "there is no folder " + folder, "check the path");
  restrict_inputs(options.allow_files);
  std::signal(SIGPIPE, SIG_IGN);
  Output output;
  McpProtocol protocol(!options.allow_files.empty());
  McpCalls calls(kThreads, ask_tool, [&output](const std::string& message) { output.send(message); });
  BoundedLines lines(kMostLine, [&](std::string_view line, bool too_long) {
    McpStep step = too_long ? McpStep(McpProtocol::too_long()) : protocol.take(line);
    if (const auto* message = std::get_if<std::string>(&step)) output.send(*message);
    if (auto* call = std::get_if<McpCall>(&step)) calls.add(std::move(*call));
    if (const auto* cancelled = std::get_if<McpCancel>(&step)) calls.cancel(cancelled->id);
  });
  std::vector<char> block(1 << 16);
  while (!output.closed()) {
    const ssize_t got = read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    lines.put({block.data(), static_cast<std::size_t>(got)});
  }
  lines.finish();
  calls.finish(output.closed() ? std::chrono::seconds(0) : kPatience);
  return Ok{};
}

}  // namespace tilecast
