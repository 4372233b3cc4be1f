#include "service/http/run.h"

#include <fmt/format.h>

#include <cstdio>

#include "service/http/service.h"

namespace tilecast {

Status run_http(const HttpOptions& options) {
  auto settings = server_settings(options);
  if (!settings) return std::move(settings).error();
  auto token = token_of(options);
  if (!token) return std::move(token).error();
  settings->signals = true;
  HttpServiceSettings allowed;
  allowed.guard = {*token, is_loopback(options.host), options.allow_host, options.allow_origin};
  HttpService service(std::move(allowed));
  auto server = HttpServer::open(*settings, {[&](const HttpRequest& request) { return service.refuse(request); },
                                             [&](const HttpRequest& request) { return service.lane(request); },
                                             [&](HttpRequest request) { return service.answer(std::move(request)); },
                                             [](const HttpExchange&) {}});
  if (!server) return std::move(server).error();
  const bool six = settings->host.find(':') != std::string::npos;
  fmt::print(stderr, "tilecast: http://{}{}{}:{}\n", six ? "[" : "", settings->host, six ? "]" : "", (*server)->port());
  (*server)->run();
  return Ok{};
}

}  // namespace tilecast
