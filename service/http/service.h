// The service: which address answers what. Functions from requests to responses; sockets are the server's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "service/http/guard.h"
#include "service/http/jobs.h"
#include "service/http/server.h"

namespace tilecast {

struct AnswerDrawings;

struct HttpServiceSettings {
  HttpGuard guard = {};
  HttpJobSettings jobs = {};
  std::chrono::milliseconds time{60'000};             // of a long question that is no job
  std::function<void(const HttpExchange&)> log = {};  // empty: none
  const AnswerDrawings* drawings = nullptr;           // for {"files": true}; null: no pictures
};

class HttpService {
 public:
  explicit HttpService(HttpServiceSettings settings);
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;
  ~HttpService();

  // What the server is to call. The service must outlive it.
  HttpHandler handler();
  // For /metrics.
  void watch(std::function<HttpLoad()> load);

  std::optional<HttpResponse> refuse(const HttpRequest& header) const;
  HttpLaneKind lane(const HttpRequest& request) const;
  HttpResponse answer(HttpRequest request);
  void done(const HttpExchange& exchange);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilecast
