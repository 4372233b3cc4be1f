// What `tilecast http` may be told, declared like the arguments of questions.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "service/http/server.h"
#include "tilecast/arguments.h"
#include "tilecast/units.h"

namespace tilecast {

enum class HttpLog : std::uint8_t { json, none };
inline constexpr std::array<std::string_view, 2> kHttpLogNames = {"json", "none"};
constexpr const auto& enum_names(HttpLog) { return kHttpLogNames; }

struct HttpOptions {
  std::string host = "127.0.0.1";
  Count port = 8421;
  std::string token;       // that clients must show; needed for addresses other than the machine's own
  std::string token_file;  // ... or the file that holds it
  std::vector<std::string> allow_origin, allow_host;
  Count max_body = 64;  // MiB
  Count connections = 512;
  Count threads = 0;       // of quick questions; 0: one a core
  Count long_threads = 1;  // of long ones
  double time_limit = 60;  // seconds of a question that is no job
  Count jobs = 64;
  HttpLog log = HttpLog::json;
};

const Question& http_question();
std::vector<BoundArgument> arguments_of(HttpOptions& options);

bool is_loopback(std::string_view host);
// The options as limits of the server; errors name what is wrong with them.
Result<HttpServerSettings> server_settings(const HttpOptions& options);
// The token that clients must show; empty where none is needed.
Result<std::string> token_of(const HttpOptions& options);

}  // namespace tilecast
