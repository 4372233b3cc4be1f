#include "service/http/service.h"

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <new>

#include "answers/ask.h"
#include "service/http/page.h"
#include "support/json_value.h"
#include "support/text.h"
#include "tilecast/gpu.h"

namespace tilecast {
namespace {

constexpr std::string_view kBase = "/v1/";

// Those that take long enough to stand in the way of others.
constexpr std::array<std::string_view, 7> kLong = {"simulate",   "plan serve",     "plan train", "diagnose",
                                                   "retime",     "tune fused-moe", "calibrate"};

HttpResponse not_found(const HttpRequest& request) {
  return error_response(404, error("nothing is at " + request.path, "GET /v1/questions lists what can be asked"));
}

HttpResponse wrong_method(std::string allowed) {
  HttpResponse response = error_response(405, error("the method does not fit the address", "send " + allowed));
  response.fields.emplace_back("Allow", std::move(allowed));
  return response;
}

bool is_reading(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

HttpResponse answer_response(const Result<std::string>& answer) {
  return answer ? json_response(*answer) : error_response(400, answer.error());
}

// "plan/serve" asks "plan serve"; empty where it names none.
std::string question_at(std::string_view path) {
  std::string name(path);
  std::replace(name.begin(), name.end(), '/', ' ');
  for (const std::string& known : question_names())
    if (known == name) return known;
  return {};
}

bool is_json(const HttpRequest& request) {
  const std::string_view type = request.field("content-type");
  return type.empty() || type == "application/json" || type.starts_with("application/json;");
}

}  // namespace

struct HttpService::State {
  explicit State(HttpServiceSettings settings) : settings(std::move(settings)) {}
  HttpServiceSettings settings;

  HttpResponse version_one(const HttpRequest& request, std::string_view path);
  HttpResponse ask_question(const HttpRequest& request, const std::string& question);
  HttpResponse route(const HttpRequest& request);
};

HttpService::HttpService(HttpServiceSettings settings) : state_(std::make_unique<State>(std::move(settings))) {}
HttpService::~HttpService() = default;

HttpResponse HttpService::State::ask_question(const HttpRequest& request, const std::string& question) {
  if (!is_json(request))
    return error_response(415, error("the body must be JSON", "send Content-Type: application/json (curl --json)"));
  return answer_response(ask(question, request.body.empty() ? "{}" : request.body));
}

HttpResponse HttpService::State::version_one(const HttpRequest& request, std::string_view path) {
  const bool reading = is_reading(request);
  if (path == "questions") return reading ? json_response(questions_json()) : wrong_method("GET");
  if (reading && path.starts_with("gpus/")) {
    const auto text = gpu_description({.name = std::string(path.substr(5))});
    return text ? json_response(*text) : error_response(404, text.error());
  }
  if (reading && path.starts_with("models/"))
    return answer_response(ask("models", Json{{"model", std::string(path.substr(7))}}.dump()));
  const std::string question = question_at(path);
  if (question.empty()) return not_found(request);
  if (reading && (question == "gpus" || question == "models" || question == "clusters"))
    return answer_response(ask(question, "{}"));
  if (request.method != "POST") return wrong_method("POST");
  return ask_question(request, question);
}

HttpResponse HttpService::State::route(const HttpRequest& request) {
  const bool reading = is_reading(request);
  if (request.path == "/healthz") return text_response("ok\n", "text/plain; charset=utf-8");
  if (request.path.starts_with(kBase))
    return version_one(request, std::string_view(request.path).substr(kBase.size()));
  return reading ? page_response(request, page_files()) : wrong_method("GET");
}

std::optional<HttpResponse> HttpService::refuse(const HttpRequest& header) const {
  return refused_by(state_->settings.guard, header);
}

HttpLaneKind HttpService::lane(const HttpRequest& request) const {
  if (!request.path.starts_with(kBase)) return HttpLaneKind::at_once;
  const std::string question = question_at(std::string_view(request.path).substr(kBase.size()));
  const bool lengthy = std::find(kLong.begin(), kLong.end(), question) != kLong.end();
  return lengthy ? HttpLaneKind::lengthy : HttpLaneKind::quick;
}

HttpResponse HttpService::answer(HttpRequest request) {
  HttpResponse response;
  try {
    response = request.method == "OPTIONS" ? HttpResponse{.status = 204} : state_->route(request);
  } catch (const std::bad_alloc&) {
    response = error_response(503, error("memory ran out", "ask for less"));
  } catch (const std::exception&) {
    response = error_response(500, error("a fault in Tilecast", "report the question"));
  }
  for (auto& field : origin_fields(state_->settings.guard, request)) response.fields.push_back(std::move(field));
  if (request.path.starts_with("/v1")) response.fields.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace tilecast
