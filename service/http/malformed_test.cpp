// Thousands of requests that nobody should send, against the whole service on a socket. Each is answered with a reason
// or cut off, and whoever asks properly meanwhile is answered.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "answers/ask.h"
#include "service/http/http_testing.h"
#include "service/http/service.h"
#include "support/base64.h"

namespace tilecast {
namespace {

using Parsed = nlohmann::json;

const std::string kGood = R"({"family": "gemm", "m": 512, "n": 512, "k": 512, "gpu": "H100-SXM"})";

class Malformed : public testing::Test {
 protected:
  static HttpServerSettings settings() {
    HttpServerSettings all;
    all.reader.body_bytes = 2 << 20;
    all.header_time = all.body_time = std::chrono::milliseconds(400);
    return all;
  }
  HttpService service_{{}};
  TestServer server_{service_.handler(), settings()};
  std::mt19937 random_{11};

  std::size_t any(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }

  void expect_refused(const std::string& bytes) {
    TestClient client(server_.port());
    client.send(bytes);
    client.send_no_more();
    const TestResponse response = client.receive();
    if (response.status == 0) return;  // cut off
    EXPECT_TRUE(response.status / 100 == 4 || response.status == 501 || response.status == 505)
        << response.status << "\n"
        << bytes.substr(0, 300);
    if (response.status / 100 == 4) {
      const Parsed body = Parsed::parse(response.body, nullptr, false);
      EXPECT_FALSE(body.is_discarded()) << response.body;
      EXPECT_FALSE(body.value("/error/message"_json_pointer, "").empty()) << response.body;
    }
  }
  void expect_still_answers() {
    const TestResponse response = fetched(server_.port(), post_text("/v1/kernel", kGood));
    EXPECT_EQ(response.status, 200) << response.body;
  }
  std::string wrong_value();
};

std::string Malformed::wrong_value() {
  const std::vector<std::string> values = {"null",
                                           "true",
                                           "[]",
                                           "{}",
                                           "-1",
                                           "1e309",
                                           "\"\"",
                                           "[[[]]]",
                                           "\"\\u0000\"",
                                           "99999999999999999999",
                                           "\"../../etc/passwd\"",
                                           "\"/etc/passwd\"",
                                           "\"-\"",
                                           "{\"name\": \"a\", \"base64\": \"!!\"}",
                                           "{\"name\": 1, \"base64\": 2}",
                                           "\"\xff\"",
                                           "NaN",
                                           "\"x\\ud800\""};
  return values[any(values.size())];
}

TEST_F(Malformed, HeadersOfEveryKind) {
  const std::string good = post_text("/v1/kernel", kGood, "Accept: */*\r\n");
  const std::vector<std::string> pieces = {"\n",
                                           "\r",
                                           "\r\n\r\n",
                                           "\r\n ",
                                           std::string(1, '\0'),
                                           "Content-Length: 5\r\n",
                                           "Transfer-Encoding: chunked\r\n",
                                           "Content-Encoding: gzip\r\n",
                                           "Host: evil\r\n",
                                           "Upgrade: h2c\r\nConnection: upgrade\r\n",
                                           " : \r\n",
                                           "%00",
                                           "%2e%2e/",
                                           std::string(20'000, 'a')};
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = good;
    const std::size_t header = bytes.find("\r\n\r\n") + 2;
    // A request line or a field that is broken for certain, and anything else on top.
    switch (any(5)) {
      case 0: bytes.replace(0, 4, std::string(1, static_cast<char>(1 + any(31)))); break;
      case 1: bytes.insert(header, "Content-Length: " + std::to_string(any(100)) + "\r\n"); break;
      case 2: bytes.insert(header, "Transfer-Encoding: chunked\r\n"); break;
      case 3: bytes.insert(header, "Host: localhost\r\n"); break;
      default: bytes.insert(header, " folded\r\n"); break;
    }
    for (std::size_t change = any(3); change > 0; --change) bytes.insert(any(header), pieces[any(pieces.size())]);
    expect_refused(bytes);
    if (round % 100 == 0) expect_still_answers();
  }
}

TEST_F(Malformed, BodiesOfEveryKind) {
  const std::vector<std::string> questions = {"kernel",   "predict",    "memory",         "collective",
                                              "simulate", "plan/serve", "plan/train",     "diagnose",
                                              "retime",   "tune/gemm",  "tune/fused-moe", "calibrate"};
  const std::vector<std::string> names = {"model",   "gpu",    "cluster", "trace", "weights",
                                          "routing", "prices", "data",    "m"};
  for (int round = 0; round < 1500; ++round) {
    std::string body = "{\"not_an_argument\": " + wrong_value();
    for (std::size_t i = any(4); i > 0; --i) body += ", \"" + names[any(names.size())] + "\": " + wrong_value();
    body += "}";
    switch (any(6)) {
      case 0: body.resize(any(body.size())); break;
      case 1: body = std::string(1 + any(3000), '['); break;
      case 2: body = "{\"a\":" + std::string(150, '{'); break;
      case 3: body.insert(any(body.size()), 1, static_cast<char>(any(256))); break;
      default: break;
    }
    if (body.empty()) body = "[";
    const std::string question = questions[any(questions.size())];
    // Dimensions of a kernel are free names, but none of these is one.
    expect_refused(post_text("/v1/" + question, body));
    if (round % 100 == 0) expect_still_answers();
  }
}

TEST_F(Malformed, PathsOutOfTheTree) {
  for (const char* path : {"/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/../../etc/passwd", "//etc/passwd",
                           "/v1/../../etc/passwd", "/v1/gpus/../../../etc/passwd", "/v1/models//etc/passwd",
                           "/v1/models/%2Fetc%2Fpasswd", "/v1/gpus/%2Fetc%2Fpasswd", "/v1/models/.", "/v1/gpus/-",
                           "/v1/models/-", "/v1/gpus/{}", "/v1/jobs/../gpus", "/v1/jobs/", "/.git/config"})
    expect_refused(get_text(path));
  expect_still_answers();
}

TEST_F(Malformed, BodiesTooLargeOrPacked) {
  expect_refused("POST /v1/kernel HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" +
                 std::string(100'000, ' '));
  expect_refused("POST /v1/kernel HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n");
  // A few hundred kilobytes that would be a gigabyte: zeros, in gzip's words.
  std::string bomb = "\x1f\x8b";
  bomb += std::string("\x08\x00\x00\x00\x00\x00\x02\xff", 8);
  const std::string packed = bomb + std::string(100'000, '\0');
  expect_refused(
      post_text("/v1/diagnose",
                Parsed{{"trace", {{"name", "t.json.gz"}, {"base64", base64_text(packed)}}}, {"gpu", "H100"}}.dump()));
  expect_refused(post_text("/v1/kernel", packed, "Content-Encoding: gzip\r\n"));
  expect_still_answers();
}

TEST_F(Malformed, ManySlowClientsAtOnce) {
  std::vector<std::unique_ptr<TestClient>> slow;
  const std::vector<std::string> beginnings = {
      "", "G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
      "POST /v1/kernel HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{"};
  for (int i = 0; i < 50; ++i) {
    slow.push_back(std::make_unique<TestClient>(server_.port()));
    slow.back()->send(beginnings[any(beginnings.size())]);
    if (i % 5 == 0) expect_still_answers();
  }
  for (int round = 0; round < 20; ++round) {
    for (const auto& client : slow) client->send("a");
    expect_still_answers();
  }
  for (std::size_t i = 0; i < slow.size(); i += 3) slow[i].reset();
  expect_still_answers();
}

TEST_F(Malformed, ClientsThatLeaveBeforeTheAnswer) {
  for (int i = 0; i < 200; ++i) {
    TestClient client(server_.port());
    client.send(post_text("/v1/kernel", kGood));
  }
  expect_still_answers();
}

}  // namespace
}  // namespace tilecast
