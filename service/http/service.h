// The service: which address answers what. Functions from requests to responses; sockets are the server's.
#pragma once

#include <memory>
#include <string>

#include "service/http/guard.h"
#include "service/http/server.h"

namespace tilecast {

struct HttpServiceSettings {
  HttpGuard guard = {};
};

class HttpService {
 public:
  explicit HttpService(HttpServiceSettings settings);
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;
  ~HttpService();

  std::optional<HttpResponse> refuse(const HttpRequest& header) const;
  HttpLaneKind lane(const HttpRequest& request) const;
  HttpResponse answer(HttpRequest request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilecast
