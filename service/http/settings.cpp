#include "service/http/settings.h"

#include <algorithm>
#include <thread>

#include "api/declare.h"
#include "support/file.h"

namespace tilecast {
namespace {

constexpr std::size_t kLeastToken = 16;  // shorter ones can be guessed

Status check_token(const std::string& field, const std::string& token) {
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (plain && token.size() >= kLeastToken) return Ok{};
  return field_error(field, "must be 16 characters or more, without spaces",
                     "for example what `openssl rand -hex 24` prints");
}

}  // namespace

const Question& http_question() {
  static const Question question{
      "http",
      "answer questions over HTTP, and show the page in a browser",
      {"http", "http --port 9000 2> access.jsonl", "http --host 0.0.0.0 --token-file /etc/tilecast/token"}};
  return question;
}

std::vector<BoundArgument> arguments_of(HttpOptions& o) {
  Declare list;
  list.add(
      o.host,
      {.name = "host", .help = "address to listen on; any but this machine's own needs a token", .example = "0.0.0.0"});
  list.add(
      o.port,
      {.name = "port", .help = "port to listen on; 0: any that is free", .example = "8421", .least = 0, .most = 65535});
  list.add(o.token,
           {.name = "token",
            .help = "what clients must send as `Authorization: Bearer ...`; other users of this machine can see "
                    "it in the list of processes",
            .group = "Who may ask"});
  list.add(o.token_file, {.name = "token-file", .help = "a file that holds the token", .group = "Who may ask"});
  list.add(o.allow_origin, {.name = "allow-origin",
                            .help = "pages of other sites that may ask from a browser",
                            .example = "https://tools.example.org",
                            .repeated = true,
                            .group = "Who may ask"});
  list.add(o.allow_host, {.name = "allow-host",
                          .help = "further names that clients may call this service by, as behind a proxy",
                          .example = "tilecast.example.org",
                          .repeated = true,
                          .group = "Who may ask"});
  list.add(o.max_body, {.name = "max-body",
                        .help = "longest body of a request",
                        .unit = "MiB",
                        .least = 1,
                        .most = 1024,
                        .group = "Limits"});
  list.add(
      o.connections,
      {.name = "connections", .help = "most connections at a time", .least = 1, .most = 100'000, .group = "Limits"});
  list.add(o.threads, {.name = "threads",
                       .help = "threads that answer quick questions (0: one for each core)",
                       .least = 0,
                       .most = 1024,
                       .group = "Limits"});
  list.add(o.long_threads, {.name = "long-threads",
                            .help = "threads that answer long ones: simulations, plans, tuning, traces",
                            .least = 1,
                            .most = 256,
                            .group = "Limits"});
  list.add(o.time_limit, {.name = "time-limit",
                          .help = "longest time that a question may take unless it is a job",
                          .unit = "s",
                          .least = 1,
                          .most = 86400,
                          .group = "Limits"});
  list.add(o.jobs, {.name = "jobs", .help = "most jobs kept at a time", .least = 1, .most = 10'000, .group = "Limits"});
  list.add(o.log,
           {.name = "log", .help = "a line of JSON on standard error for every request, or none", .example = "none"});
  return list.take();
}

bool is_loopback(std::string_view host) { return host.starts_with("127.") || host == "::1" || host == "localhost"; }

Result<std::string> token_of(const HttpOptions& options) {
  if (!options.token.empty() && !options.token_file.empty())
    return field_error("token", "and token-file are both given", "leave one of them out");
  std::string token = options.token;
  const std::string field = options.token_file.empty() ? "token" : "token-file";
  if (!options.token_file.empty()) {
    auto text = read_text_file(options.token_file, 1 << 16);
    if (!text) return std::move(text).error();
    token = text->substr(0, text->find_first_of("\r\n"));
  }
  if (token.empty() && options.token_file.empty()) {
    if (is_loopback(options.host)) return token;
    return field_error("host", "can be reached from other machines, which needs a token",
                       "give --token-file FILE, or listen at 127.0.0.1");
  }
  if (auto fine = check_token(field, token); !fine) return std::move(fine).error();
  return token;
}

Result<HttpServerSettings> server_settings(const HttpOptions& options) {
  if (auto fine = check_arguments(options); !fine) return std::move(fine).error();
  HttpServerSettings settings;
  settings.host = options.host == "localhost" ? "127.0.0.1" : options.host;
  settings.port = static_cast<std::uint16_t>(options.port);
  settings.reader.body_bytes = static_cast<std::size_t>(options.max_body) << 20;
  settings.buffered_bytes = std::max(settings.buffered_bytes, 2 * settings.reader.body_bytes);
  settings.connections = static_cast<std::size_t>(options.connections);
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  settings.quick_threads = options.threads > 0 ? static_cast<int>(options.threads) : cores;
  settings.long_threads = static_cast<int>(options.long_threads);
  return settings;
}

}  // namespace tilecast
