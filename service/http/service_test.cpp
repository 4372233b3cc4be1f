#include "service/http/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "answers/ask.h"
#include "answers/drawings.h"
#include "service/http/page.h"
#include "service/http/settings.h"
#include "support/base64.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using Parsed = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

HttpRequest request_to(std::string method, std::string path, std::string body = "") {
  HttpRequest request;
  request.method = std::move(method), request.body = std::move(body);
  const auto mark = path.find('?');
  request.query = mark == std::string::npos ? "" : path.substr(mark + 1);
  request.path = path.substr(0, mark);
  request.fields = {{"host", "localhost"}};
  return request;
}
HttpResponse asked(HttpService& service, std::string method, std::string path, std::string body = "") {
  return service.answer(request_to(std::move(method), std::move(path), std::move(body)));
}
std::string_view field_of(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.fields)
    if (key == name) return value;
  return "";
}

const char* const kKernel = R"({"family": "gemm", "m": 4096, "n": 4096, "k": 4096, "gpu": ["H100-SXM", "B200"]})";

TEST(HttpService, AnswersAreTheDocumentsOfTheLibrary) {
  HttpService service({});
  const HttpResponse response = asked(service, "POST", "/v1/kernel", kKernel);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, *ask("kernel", kKernel));
  EXPECT_EQ(field_of(response, "Content-Type"), "application/json");
  EXPECT_EQ(field_of(response, "Cache-Control"), "no-store");
  EXPECT_EQ(asked(service, "GET", "/v1/gpus").body, *ask("gpus", "{}"));
  EXPECT_EQ(asked(service, "GET", "/v1/models").body, *ask("models", "{}"));
  EXPECT_EQ(asked(service, "GET", "/v1/clusters").body, *ask("clusters", "{}"));
  EXPECT_EQ(asked(service, "GET", "/v1/questions").body, questions_json());
  EXPECT_EQ(asked(service, "GET", "/v1/models/Llama-3.1-8B").body, *ask("models", R"({"model": "Llama-3.1-8B"})"));
  EXPECT_EQ(asked(service, "GET", "/healthz").body, "ok\n");
  EXPECT_THAT(asked(service, "GET", "/openapi.json").body, HasSubstr("3.1."));
}

// A card that does not exist: another with a field changed.
TEST(HttpService, ADescriptionEditedIsAnotherCard) {
  HttpService service({});
  const HttpResponse own = asked(service, "GET", "/v1/gpus/h100");
  ASSERT_EQ(own.status, 200);
  Parsed card = Parsed::parse(own.body), query = Parsed::parse(kKernel);
  const auto latency = [&](const Parsed& gpu) {
    query["gpu"] = gpu;
    const HttpResponse response = asked(service, "POST", "/v1/kernel", query.dump());
    EXPECT_EQ(response.status, 200) << response.body;
    return Parsed::parse(response.body).at(0).at("latency_us").get<double>();
  };
  const double before = latency(card);
  EXPECT_NEAR(before, latency("H100-SXM"), 1e-9 * before);
  card["name"] = "H100-half";
  card["aliases"] = Parsed::array();
  card["sms"] = card["sms"].get<int>() / 2;
  EXPECT_GT(latency(card), 1.3 * before);
}

// What --csv prints and --plot draws, by the field in which clients say what they take.
TEST(HttpService, RowsAndChartsAreAskedForByAccept) {
  AnswerDrawings drawings;
  drawings.chart = [](const AnswerRows& rows, const AnswerChart& chart) -> Result<std::string> {
    if (!chart.y.empty() && !rows.find(chart.y)) return field_error("plot-y", "is not a column", "another");
    return chart.title + (chart.png ? ", png, " : ", svg, ") + std::to_string(rows.rows.size()) + " rows, " + chart.y;
  };
  HttpServiceSettings settings;
  settings.drawings = &drawings;
  HttpService service(std::move(settings));
  const std::string query = R"({"family": "gemm", "m": "64..128*2", "n": 64, "k": 64, "gpu": ["H100-SXM", "B200"]})";
  const auto accepting = [&](const std::string& types, const std::string& path = "/v1/kernel") {
    HttpRequest request = request_to("POST", path, query);
    request.fields.emplace_back("accept", types);
    return service.answer(std::move(request));
  };
  const HttpResponse rows = accepting("text/csv");
  EXPECT_EQ(rows.body, csv_text(*ask_rows("kernel", query)));
  EXPECT_THAT(std::string(field_of(rows, "Content-Type")), StartsWith("text/csv"));
  const HttpResponse chart = accepting("image/webp, image/svg+xml;q=0.9, */*");
  EXPECT_EQ(chart.body, "kernel gemm, gpu H100-SXM,B200, k 64, m 64..128*2, n 64, svg, 4 rows, ");
  EXPECT_EQ(field_of(chart, "Content-Type"), "image/svg+xml");
  EXPECT_THAT(accepting("image/png", "/v1/kernel?plot_y=bound_us").body, HasSubstr("png, 4 rows, bound_us"));
  const HttpResponse wrong = accepting("image/png", "/v1/kernel?plot_y=nothing");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(Parsed::parse(wrong.body).at("error").at("field"), "plot_y");
  for (const char* json : {"", "*/*", "application/json, text/csv", "text/html"})
    EXPECT_EQ(accepting(json).body, *ask("kernel", query)) << json;
  HttpService plain({});
  HttpRequest request = request_to("POST", "/v1/kernel", query);
  request.fields.emplace_back("accept", "image/png");
  EXPECT_EQ(plain.answer(std::move(request)).status, 400) << "nobody draws there";
}

TEST(HttpService, WhatIsWrongIsSaidWithItsField) {
  HttpService service({});
  const auto problem = [&](const std::string& path, const std::string& body, int status) {
    const HttpResponse response = asked(service, "POST", path, body);
    EXPECT_EQ(response.status, status) << path << " " << body << response.body;
    return Parsed::parse(response.body).at("error");
  };
  EXPECT_EQ(problem("/v1/kernel", R"({"family": "gemm", "gpux": "H100"})", 400).at("field"), "gpu");
  EXPECT_EQ(problem("/v1/predict", R"({"model": "Llama-3.1-8B", "gpu": "H100", "modex": 1})", 400).at("field"),
            "modex");
  EXPECT_EQ(Parsed::parse(asked(service, "GET", "/v1/gpus/H1000").body).at("error").at("field"), "gpu");
  EXPECT_FALSE(problem("/v1/kernel", "{", 400).at("message").get<std::string>().empty());
  EXPECT_FALSE(problem("/v1/kernel", "[]", 400).at("remedy").get<std::string>().empty());
  EXPECT_FALSE(problem("/v1/kernel", std::string(5000, '['), 400).at("message").get<std::string>().empty());
  EXPECT_FALSE(problem("/v1/nothing", "{}", 404).at("remedy").get<std::string>().empty());
  EXPECT_THAT(problem("/v1/tune", "{}", 404).at("remedy").get<std::string>(), HasSubstr("/v1/tune/gemm"));
  EXPECT_EQ(asked(service, "GET", "/v1/gpus/H1000").status, 404);
  EXPECT_EQ(asked(service, "GET", "/v1/models/../../etc/passwd").status, 404);
  const HttpResponse method = asked(service, "GET", "/v1/kernel");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(field_of(method, "Allow"), "POST");
  EXPECT_EQ(asked(service, "POST", "/").status, 405);
  EXPECT_EQ(asked(service, "GET", "/etc/passwd").status, 404);
  HttpRequest form = request_to("POST", "/v1/kernel", kKernel);
  form.fields.emplace_back("content-type", "text/plain");
  EXPECT_EQ(service.answer(form).status, 415);
}

TEST(HttpService, NothingOfTheMachineIsReadOrWritten) {
  HttpService service({});
  const TestFolder folder;
  const std::string trace = folder.plain("trace.csv", "name,duration_us\nk,5\n"), out = folder.file("out.json");
  const auto refused = [&](const char* path, const Parsed& body) {
    const HttpResponse response = asked(service, "POST", path, body.dump());
    EXPECT_EQ(response.status, 400) << body << response.body;
    return Parsed::parse(response.body).at("error").at("field").get<std::string>();
  };
  EXPECT_EQ(refused("/v1/diagnose", {{"trace", trace}, {"gpu", "H100"}}), "trace");
  EXPECT_EQ(refused("/v1/retime", {{"trace", trace}, {"gpu", "H100"}, {"output", out}}), "output");
  EXPECT_EQ(refused("/v1/calibrate", {{"data", trace}, {"gpu", "H100"}, {"out", out}}), "data");
  EXPECT_EQ(refused("/v1/calibrate", {{"gpu", "H100"}, {"out", out}}), "out");
  EXPECT_EQ(refused("/v1/tune/gemm", {{"gpu", "H100"}, {"m", 1}, {"n", 64}, {"k", 64}, {"measure", "touch " + out}}),
            "measure");
  const Parsed file = {{"name", "trace.csv"}, {"base64", base64_text("name,duration_us\nk,5\n")}};
  const HttpResponse by_value = asked(service, "POST", "/v1/diagnose", Parsed{{"trace", file}, {"gpu", "H100"}}.dump());
  EXPECT_EQ(by_value.status, 200) << by_value.body;
  EXPECT_THAT(by_value.body, testing::Not(HasSubstr("/tmp")));
}

TEST(HttpService, JobsAreStartedWatchedAndForgottenNever) {
  HttpService service({});
  const std::string question =
      R"({"model": "Llama-3.1-8B", "gpu": "H100-SXM", "rate": 5, "num_prompts": 50, "input": "128", "output": "16"})";
  const HttpResponse started = asked(service, "POST", "/v1/simulate?job=1", question);
  ASSERT_EQ(started.status, 202) << started.body;
  const std::string id = Parsed::parse(started.body).at("job"), path = "/v1/jobs/" + id;
  EXPECT_EQ(field_of(started, "Location"), path);
  const HttpResponse stream = asked(service, "GET", path + "/events");
  ASSERT_TRUE(stream.events);
  std::string events;
  while (!stream.events->finished()) {
    events += stream.events->take();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(events, StartsWith("event: "));
  EXPECT_THAT(events, HasSubstr("event: done\ndata: {"));
  const Parsed status = Parsed::parse(asked(service, "GET", path).body);
  EXPECT_EQ(status.at("state"), "done");
  EXPECT_EQ(status.at("progress").at("done"), 100);
  EXPECT_EQ(status.at("answer"), Parsed::parse(*ask("simulate", question)));
  EXPECT_EQ(asked(service, "GET", "/v1/jobs/0000").status, 404);
  EXPECT_EQ(asked(service, "POST", path).status, 405);
  EXPECT_THAT(asked(service, "GET", "/metrics").body, HasSubstr("tilecast_http_jobs{state=\"done\"} 1"));
}

TEST(HttpService, AJobThatFailsSaysWhy) {
  HttpService service({});
  const HttpResponse started = asked(service, "POST", "/v1/simulate?job=1", R"({"model": "nobody", "gpu": "H100"})");
  const std::string path = "/v1/jobs/" + Parsed::parse(started.body).at("job").get<std::string>();
  Parsed status;
  do status = Parsed::parse(asked(service, "GET", path).body);
  while (status.at("state") == "queued" || status.at("state") == "running");
  EXPECT_EQ(status.at("state"), "failed");
  EXPECT_EQ(status.at("error").at("field"), "model");
}

TEST(HttpService, LongQuestionsHaveALaneOfTheirOwn) {
  HttpService service({});
  EXPECT_EQ(service.lane(request_to("POST", "/v1/plan/serve")), HttpLaneKind::lengthy);
  EXPECT_EQ(service.lane(request_to("POST", "/v1/plan/serve?job=1")), HttpLaneKind::quick);
  EXPECT_EQ(service.lane(request_to("POST", "/v1/kernel")), HttpLaneKind::quick);
  EXPECT_EQ(service.lane(request_to("GET", "/healthz")), HttpLaneKind::at_once);
  // Files that have to be unpacked, and more JSON than is read in a moment, are long whatever they are asked for.
  HttpRequest with_file = request_to("POST", "/v1/predict");
  with_file.body = R"({"model": {"name": "a.json.gz", "base64": "H4sI"}, "gpu": "H100-SXM"})";
  EXPECT_EQ(service.lane(with_file), HttpLaneKind::lengthy);
  with_file.body = std::string(300'000, ' ');
  EXPECT_EQ(service.lane(with_file), HttpLaneKind::lengthy);
  with_file.body.resize(1000);
  EXPECT_EQ(service.lane(with_file), HttpLaneKind::quick);
}

TEST(HttpService, ALongQuestionEndsWithItsTime) {
  HttpServiceSettings settings;
  settings.time = std::chrono::milliseconds(0);
  HttpService service(std::move(settings));
  const HttpResponse response =
      asked(service, "POST", "/v1/simulate",
            R"({"model": "Llama-3.1-8B", "gpu": "H100-SXM", "rate": 50, "num_prompts": 5000})");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("job=1"));
}

TEST(HttpService, CountsWhatWasAsked) {
  HttpService service({});
  service.done({.path = "/v1/kernel", .status = 200, .received = 10, .sent = 20, .seconds = 0.002});
  service.done({.path = "/wp-login.php", .status = 404});
  const std::string text = asked(service, "GET", "/metrics").body;
  EXPECT_THAT(text, HasSubstr("tilecast_http_requests_total{route=\"kernel\",status=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tilecast_http_requests_total{route=\"other\",status=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tilecast_http_request_seconds_bucket{route=\"kernel\",le=\"0.0025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tilecast_http_request_seconds_bucket{route=\"kernel\",le=\"0.001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("tilecast_http_sent_bytes_total 20\n"));
}

TEST(HttpPage, FilesWithTheirTypesAndTags) {
  // "hi", as gzip writes it.
  const std::string packed("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\xc8\x04\x00\xac\x2a\x93\xd8\x02\x00\x00\x00",
                           22);
  const PageFile files[] = {{"/index.html", "text/html; charset=utf-8", "tag1", true, packed},
                            {"/assets/a.png", "image/png", "tag2", false, "PNG"}};
  HttpRequest request = request_to("GET", "/");
  EXPECT_EQ(page_response(request, files).body, "hi");
  request.fields.emplace_back("accept-encoding", "br, gzip");
  const HttpResponse response = page_response(request, files);
  EXPECT_EQ(response.body, packed);
  EXPECT_EQ(field_of(response, "Content-Encoding"), "gzip");
  EXPECT_EQ(field_of(response, "ETag"), "\"tag1\"");
  EXPECT_EQ(field_of(response, "Cache-Control"), "no-cache");
  EXPECT_THAT(std::string(field_of(response, "Content-Security-Policy")), HasSubstr("default-src 'none'"));
  request.fields.emplace_back("if-none-match", "\"tag1\"");
  EXPECT_EQ(page_response(request, files).status, 304);
  EXPECT_THAT(std::string(field_of(page_response(request_to("GET", "/assets/a.png"), files), "Cache-Control")),
              HasSubstr("immutable"));
  EXPECT_EQ(page_response(request_to("GET", "/assets/../index.html"), files).status, 404);
}

TEST(HttpPage, WithoutItAnExampleThatIsAnswered) {
  const std::string page = page_response(request_to("GET", "/"), {}).body;
  EXPECT_THAT(page, HasSubstr("make ui"));
  const std::size_t begin = page.find('{'), end = page.find('\'', begin);
  ASSERT_NE(end, std::string::npos);
  HttpService service({});
  const HttpResponse answer = asked(service, "POST", "/v1/predict", page.substr(begin, end - begin));
  EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST(HttpOptions, OtherAddressesNeedAToken) {
  HttpOptions options;
  EXPECT_EQ(*token_of(options), "");
  options.host = "0.0.0.0";
  EXPECT_EQ(token_of(options).error().field, "host");
  options.token = "short";
  EXPECT_EQ(token_of(options).error().field, "token");
  options.token = "0123456789abcdef";
  EXPECT_EQ(*token_of(options), options.token);
  const TestFolder folder;
  options.token_file = folder.plain("token", "fedcba9876543210\n");
  EXPECT_FALSE(token_of(options));
  options.token.clear();
  EXPECT_EQ(*token_of(options), "fedcba9876543210");
  options.port = 70000;
  EXPECT_EQ(server_settings(options).error().field, "port");
}

}  // namespace
}  // namespace tilecast
