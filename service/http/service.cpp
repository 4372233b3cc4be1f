#include "service/http/service.h"

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <new>
#include <stop_token>

#include "answers/ask.h"
#include "answers/documents.h"
#include "answers/served.h"
#include "service/http/metrics.h"
#include "service/http/page.h"
#include "service/http/rows_answer.h"
#include "service/schema/openapi.h"
#include "support/json_value.h"
#include "support/text.h"
#include "tilecast/watch.h"

namespace tilecast {
namespace {

constexpr std::string_view kBase = "/v1/";
using Clock = std::chrono::steady_clock;

// Those that take long enough to stand in the way of others.
constexpr std::array<std::string_view, 8> kLong = {"simulate", "plan serve",     "plan train", "diagnose",
                                                   "retime",   "tune fused-moe", "tune gemm",  "calibrate"};
bool is_long(std::string_view question) { return std::find(kLong.begin(), kLong.end(), question) != kLong.end(); }

std::string_view doing(std::string_view question) {
  if (question == "simulate") return "simulating";
  if (question.starts_with("plan")) return "planning";
  if (question.starts_with("tune")) return "ranking";
  if (question == "calibrate") return "fitting";
  return is_long(question) ? "reading" : "forecasting";
}

// "/v1/tune" is the beginning of two questions: the remedy names them.
HttpResponse not_found(const HttpRequest& request) {
  std::vector<std::string> below;
  for (const std::string& known : question_names()) {
    std::string path = std::string(kBase) + known;
    std::replace(path.begin(), path.end(), ' ', '/');
    if (path.starts_with(request.path + "/")) below.push_back(std::move(path));
  }
  const bool begun = !below.empty() && request.path.size() > kBase.size();
  return error_response(404, error("nothing is at " + request.path,
                                   begun ? "POST to " + join_or(below) : "GET /v1/questions lists what can be asked"));
}

HttpResponse wrong_method(std::string allowed) {
  HttpResponse response = error_response(405, error("the method does not fit the address", "send " + allowed));
  response.fields.emplace_back("Allow", std::move(allowed));
  return response;
}

bool is_reading(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

HttpResponse answer_response(const Result<std::string>& answer, int otherwise = 400) {
  return answer ? json_response(*answer) : error_response(otherwise, answer.error());
}

// "plan/serve" asks "plan serve"; empty where it names none.
std::string_view question_at(std::string_view path) {
  for (const std::string& known : question_names())
    if (std::equal(known.begin(), known.end(), path.begin(), path.end(),
                   [](char a, char b) { return a == b || (a == ' ' && b == '/'); }))
      return known;
  return {};
}
std::string_view below_base(const HttpRequest& request) { return std::string_view(request.path).substr(kBase.size()); }

bool is_json(const HttpRequest& request) {
  const std::string_view type = request.field("content-type");
  return type.empty() || type == "application/json" || type.starts_with("application/json;");
}

// Of somebody who sees nothing of this machine's files.
Result<std::string> ask_here(std::string_view question, const std::string& query, const AskWatch& watch,
                             const AnswerDrawings* drawings = nullptr) {
  return ask_served(question, std::string_view(query.empty() ? "{}" : query), watch,
                    {.paths = false, .drawings = drawings});
}

Result<HttpResponse> responded(Result<std::string> answer) {
  if (!answer) return std::move(answer).error();
  return json_response(*std::move(answer));
}

// The same as rows, or as a chart of them.
Result<HttpResponse> rows_here(RowsForm form, std::string_view question, const HttpRequest& request,
                               const AskWatch& watch, const AnswerDrawings* drawings) {
  const std::string query = request.body.empty() ? "{}" : request.body;
  const auto rows = ask_served_rows(question, query, watch, {.paths = false});
  if (!rows) return rows.error();
  return rows_response(form, *rows, question, query, request.parameter("plot_y"), drawings);
}

// Lists that are the same every time.
struct Listed {
  std::once_flag made;
  std::string text;
  template <class Make>
  const std::string& once(const Make& make) {
    std::call_once(made, [&] { text = make(); });
    return text;
  }
};

}  // namespace

struct HttpService::State {
  explicit State(HttpServiceSettings given) : settings(std::move(given)), jobs(settings.jobs) {}
  HttpServiceSettings settings;
  HttpMetrics metrics;
  std::function<HttpLoad()> load;
  Listed questions, gpus, models, clusters, openapi;
  HttpJobs jobs;  // last: what they ask for goes before the rest

  HttpResponse version_one(HttpRequest& request);
  HttpResponse listed(std::string_view question);
  HttpResponse ask_question(HttpRequest& request, std::string_view question);
  HttpResponse start_job(HttpRequest& request, std::string_view question);
  HttpResponse job(const HttpRequest& request, std::string_view path);
  HttpResponse route(HttpRequest& request);
};

HttpService::HttpService(HttpServiceSettings settings) : state_(std::make_unique<State>(std::move(settings))) {}
HttpService::~HttpService() = default;

void HttpService::watch(std::function<HttpLoad()> load) { state_->load = std::move(load); }

HttpHandler HttpService::handler() {
  return {[this](const HttpRequest& header) { return refuse(header); },
          [this](const HttpRequest& request) { return lane(request); },
          [this](HttpRequest request) { return answer(std::move(request)); },
          [this](const HttpExchange& exchange) { done(exchange); }};
}

HttpResponse HttpService::State::listed(std::string_view question) {
  Listed& list = question == "gpus" ? gpus : question == "models" ? models : clusters;
  return json_response(list.once([&] {
    const auto text = ask(question, "{}");
    return text ? *text : std::string();
  }));
}

HttpResponse HttpService::State::ask_question(HttpRequest& request, std::string_view question) {
  std::stop_source late;
  const auto must_end = Clock::now() + settings.time;
  const auto hear = [&](double) {
    if (Clock::now() > must_end) late.request_stop();
  };
  const AskWatch watch{hear, late.get_token()};
  const auto form = rows_form(request.field("accept"));
  const auto response = form ? rows_here(*form, question, request, watch, settings.drawings)
                             : responded(ask_here(question, request.body, watch, settings.drawings));
  if (response) return *response;
  if (is_stopped(response.error()))
    return error_response(503, error("takes longer than a request may", "ask it as a job: POST with ?job=1"));
  return error_response(400, response.error());
}

HttpResponse HttpService::State::start_job(HttpRequest& request, std::string_view question) {
  const auto body = std::make_shared<std::string>(std::move(request.body));
  const auto id = jobs.start(std::string(doing(question)), body->size(), [this, question, body](const AskWatch& watch) {
    const std::string query = std::move(*body);
    return ask_here(question, query, watch, settings.drawings);
  });
  if (!id) return error_response(503, id.error());
  HttpResponse response = json_response(Json{{"job", *id}}.dump() + "\n", 202);
  response.fields.emplace_back("Location", "/v1/jobs/" + *id);
  return response;
}

HttpResponse HttpService::State::job(const HttpRequest& request, std::string_view path) {
  const auto slash = path.find('/');
  const std::string id(path.substr(0, slash));
  if (slash != std::string_view::npos && path.substr(slash) != "/events") return not_found(request);
  if (slash != std::string_view::npos) {
    if (request.method != "GET") return wrong_method("GET");
    auto events = jobs.events(id);
    if (!events) return error_response(404, events.error());
    HttpResponse response;
    response.events = *std::move(events);
    return response;
  }
  if (request.method == "DELETE") return answer_response(jobs.cancel(id), 404);
  return is_reading(request) ? answer_response(jobs.status(id), 404) : wrong_method("GET, DELETE");
}

HttpResponse HttpService::State::version_one(HttpRequest& request) {
  const std::string_view path = below_base(request);
  const bool reading = is_reading(request);
  if (path == "questions")
    return reading ? json_response(questions.once([] { return questions_json(); })) : wrong_method("GET");
  if (path.starts_with("jobs/")) return job(request, path.substr(5));
  if (path.starts_with("gpus/"))
    return reading ? answer_response(editable_gpu_json(std::string(path.substr(5))), 404) : wrong_method("GET");
  if (path.starts_with("models/"))
    return reading ? answer_response(ask_here("models", Json{{"model", path.substr(7)}}.dump(), {}), 404)
                   : wrong_method("GET");
  const std::string_view question = question_at(path);
  if (question.empty()) return not_found(request);
  if (reading && (question == "gpus" || question == "models" || question == "clusters")) return listed(question);
  if (request.method != "POST") return wrong_method("POST");
  if (!is_json(request))
    return error_response(415, error("the body must be JSON", "send Content-Type: application/json (curl --json)"));
  return request.parameter("job") == "1" ? start_job(request, question) : ask_question(request, question);
}

HttpResponse HttpService::State::route(HttpRequest& request) {
  if (request.method == "OPTIONS") return HttpResponse{.status = 204};
  if (request.path.starts_with(kBase)) return version_one(request);
  if (!is_reading(request)) return wrong_method("GET");
  if (request.path == "/healthz") return text_response("ok\n", "text/plain; charset=utf-8");
  if (request.path == "/metrics")
    return text_response(metrics.text(load ? load() : HttpLoad{}, jobs.by_state()), "text/plain; version=0.0.4");
  if (request.path == "/openapi.json") return json_response(openapi.once([] { return openapi_json(); }));
  return page_response(request, page_files());
}

std::optional<HttpResponse> HttpService::refuse(const HttpRequest& header) const {
  return refused_by(state_->settings.guard, header);
}

namespace {

// A question that is quick but for what comes with it: files have to be unpacked, megabytes of JSON read, and a few
// kilobytes of gzip can take seconds.
bool comes_with_much(const HttpRequest& request) {
  constexpr std::size_t kMostQuick = std::size_t{256} << 10;
  return request.body.size() > kMostQuick || contains(request.body, "\"base64\"");
}

}  // namespace

HttpLaneKind HttpService::lane(const HttpRequest& request) const {
  if (!request.path.starts_with(kBase) || request.method == "OPTIONS") return HttpLaneKind::at_once;
  const std::string_view path = below_base(request);
  if (path.starts_with("jobs/")) return HttpLaneKind::at_once;
  if (request.parameter("job") == "1") return HttpLaneKind::quick;
  return is_long(question_at(path)) || comes_with_much(request) ? HttpLaneKind::lengthy : HttpLaneKind::quick;
}

HttpResponse HttpService::answer(HttpRequest request) {
  HttpResponse response;
  try {
    response = state_->route(request);
  } catch (const std::bad_alloc&) {
    response = error_response(503, error("memory ran out", "ask for less"));
  } catch (const std::exception&) {
    response = error_response(500, error("a fault in Tilecast", "report the question"));
  }
  for (auto& field : origin_fields(state_->settings.guard, request)) response.fields.push_back(std::move(field));
  if (request.path.starts_with("/v1")) response.fields.emplace_back("Cache-Control", "no-store");
  return response;
}

void HttpService::done(const HttpExchange& exchange) {
  std::string route = "other";
  if (exchange.path.starts_with(kBase)) {
    const std::string_view path = std::string_view(exchange.path).substr(kBase.size());
    const std::string_view question = question_at(path);
    if (!question.empty()) route = question;
    else if (path.starts_with("jobs/")) route = "jobs";
  } else if (exchange.status == 200 || exchange.status == 304) {
    route = "page";
  }
  state_->metrics.count(exchange, route);
  if (state_->settings.log) state_->settings.log(exchange);
}

}  // namespace tilecast
