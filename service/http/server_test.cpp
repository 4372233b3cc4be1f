#include "service/http/server.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>

#include "service/http/http_testing.h"

namespace tilecast {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A door that a test holds shut for as long as it likes.
class Door {
 public:
  void pass() {
    std::unique_lock guard(lock_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(guard, [this] { return open_; });
  }
  void wait_for_somebody() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return inside_ > 0; });
  }
  void open() {
    const std::lock_guard guard(lock_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

class Counting final : public HttpEvents {
 public:
  std::string take() override { return ++count_ > 3 ? "" : "data: " + std::to_string(count_) + "\n\n"; }
  bool finished() const override { return count_ >= 3; }

 private:
  int count_ = 0;
};

struct Answering {
  Door door;
  std::atomic<int> exchanges{0}, received{0};
  std::vector<std::string> reasons;  // of refusals; to be read when the server has ended
  HttpHandler handler() {
    return {[](const HttpRequest& request) -> std::optional<HttpResponse> {
              if (request.path == "/forbidden") return error_response(403, error("no", "go"));
              return {};
            },
            [](const HttpRequest& request) {
              if (request.path == "/slow") return HttpLaneKind::lengthy;
              return request.path == "/now" ? HttpLaneKind::at_once : HttpLaneKind::quick;
            },
            [this](HttpRequest request) {
              if (request.path == "/slow") door.pass();
              HttpResponse response = text_response(request.method + " " + request.body, "text/plain");
              if (request.path == "/events") response.events = std::make_shared<Counting>();
              return response;
            },
            [this](const HttpExchange& exchange) {
              ++exchanges;
              received += static_cast<int>(exchange.received);
              if (!exchange.reason.empty()) reasons.push_back(exchange.reason);
            }};
  }
};

HttpServerSettings small() {
  HttpServerSettings settings;
  settings.reader.body_bytes = 1 << 20;
  settings.grace = milliseconds(5000);
  return settings;
}

TEST(HttpServer, AnswersOneRequestAfterAnotherOnAConnection) {
  Answering answering;
  TestServer server(answering.handler(), small());
  TestClient client(server.port());
  for (const char* path : {"/quick", "/now"}) {
    client.send(post_text(path, "hello"));
    const TestResponse response = client.receive();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "POST hello");
    EXPECT_THAT(response.header, Not(HasSubstr("Connection: close")));
  }
  client.send(get_text("/a") + get_text("/b") + "HEAD /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.receive().body, "GET ");
  EXPECT_EQ(client.receive().body, "GET ");
  const TestResponse head = client.receive(true);
  EXPECT_THAT(head.header, HasSubstr("Content-Length: 5"));
  EXPECT_EQ(client.rest(), "");
  server.end();
  EXPECT_EQ(answering.exchanges, 5);
  EXPECT_EQ(answering.received, 10);
}

// Whoever refuses it: the reader, the guard or the limit on what waits.
TEST(HttpServer, EveryRefusalIsReportedWithItsReason) {
  Answering answering;
  TestServer server(answering.handler(), small());
  EXPECT_EQ(fetched(server.port(), get_text("/forbidden")).status, 403);
  EXPECT_EQ(fetched(server.port(), "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").status, 400);
  EXPECT_EQ(fetched(server.port(), get_text("/fine")).status, 200);
  server.end();
  ASSERT_EQ(answering.reasons.size(), 2u);
  EXPECT_EQ(answering.reasons[0], "no");
  EXPECT_THAT(answering.reasons[1], HasSubstr("Host"));
}

TEST(HttpServer, RefusesBeforeTheBodyComes) {
  Answering answering;
  TestServer server(answering.handler(), small());
  TestClient client(server.port());
  client.send("POST /forbidden HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(response.header, HasSubstr("Connection: close"));
}

TEST(HttpServer, ARefusedRequestLeavesItsConnectionToTheNext) {
  Answering answering;
  TestServer server(answering.handler(), small());
  TestClient client(server.port());
  client.send(get_text("/forbidden"));
  EXPECT_EQ(client.receive().status, 403);
  client.send(get_text("/now"));
  EXPECT_EQ(client.receive().status, 200);
  client.send(post_text("/forbidden", "all of it") + get_text("/now"));
  EXPECT_EQ(client.receive().status, 403);
  EXPECT_EQ(client.receive().status, 200);
}

TEST(HttpServer, TellsAClientThatWaitsToGoOn) {
  Answering answering;
  TestServer server(answering.handler(), small());
  TestClient client(server.port());
  client.send("POST /quick HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  std::jthread later([&] { client.send("abc"); });
  EXPECT_EQ(client.receive().body, "POST abc");
}

TEST(HttpServer, EventsUntilTheirEnd) {
  Answering answering;
  TestServer server(answering.handler(), small());
  TestClient client(server.port());
  client.send(get_text("/events"));
  const TestResponse response = client.receive();
  EXPECT_THAT(response.header, HasSubstr("text/event-stream"));
  EXPECT_EQ(client.rest(), "data: 1\n\ndata: 2\n\ndata: 3\n\n");
}

TEST(HttpServer, SlowClientsAreCutOffAndHoldNobodyUp) {
  Answering answering;
  HttpServerSettings settings = small();
  settings.header_time = settings.body_time = milliseconds(200);
  settings.idle_time = milliseconds(300);
  TestServer server(answering.handler(), settings);
  TestClient silent(server.port()), half(server.port()), stuck(server.port());
  half.send("GET / HT");
  stuck.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(fetched(server.port(), get_text("/now")).status, 200);
  EXPECT_EQ(half.receive().status, 408);
  EXPECT_EQ(stuck.receive().status, 408);
  EXPECT_EQ(silent.rest(), "");
}

TEST(HttpServer, LongQuestionsDoNotStandBeforeQuickOnes) {
  Answering answering;
  HttpServerSettings settings = small();
  settings.long_queue = 2;
  TestServer server(answering.handler(), settings);
  std::vector<std::unique_ptr<TestClient>> waiting;
  waiting.push_back(std::make_unique<TestClient>(server.port()));
  waiting.back()->send(get_text("/slow"));
  answering.door.wait_for_somebody();
  int refused = 0;
  for (int i = 0; i < 4; ++i) {  // two of them have room to wait
    waiting.push_back(std::make_unique<TestClient>(server.port()));
    waiting.back()->send(get_text("/slow"));
    EXPECT_EQ(fetched(server.port(), get_text("/quick")).status, 200);
  }
  EXPECT_EQ(server.server().load().long_running, 1u);
  answering.door.open();
  for (const auto& client : waiting) refused += client->receive().status == 503;
  EXPECT_EQ(refused, 2);
}

TEST(HttpServer, NoMoreConnectionsThanAllowed) {
  Answering answering;
  HttpServerSettings settings = small();
  settings.connections = 4;
  TestServer server(answering.handler(), settings);
  std::vector<std::unique_ptr<TestClient>> kept;
  for (int i = 0; i < 4; ++i) {
    kept.push_back(std::make_unique<TestClient>(server.port()));
    kept.back()->send(get_text("/now"));
    EXPECT_EQ(kept.back()->receive().status, 200);
  }
  TestClient fifth(server.port());
  EXPECT_EQ(fifth.receive().status, 503);
  kept.pop_back();
  int status = 0;
  for (int i = 0; i < 100 && status != 200; ++i) status = fetched(server.port(), get_text("/now")).status;
  EXPECT_EQ(status, 200);
}

TEST(HttpServer, BodiesOfAllTogetherAreBounded) {
  Answering answering;
  HttpServerSettings settings = small();
  settings.buffered_bytes = 300'000;
  TestServer server(answering.handler(), settings);
  const std::string header = "POST /quick HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n";
  TestClient large(server.port());
  large.send(header + std::string(350'000, 'x'));
  EXPECT_EQ(large.receive().status, 503);
  EXPECT_EQ(fetched(server.port(), post_text("/quick", "ab")).body, "POST ab");
}

TEST(HttpServer, FinishesWhatItHasWhenItEnds) {
  Answering answering;
  TestServer server(answering.handler(), small());
  TestClient idle(server.port()), busy(server.port());
  idle.send(get_text("/now"));
  EXPECT_EQ(idle.receive().status, 200);
  busy.send(get_text("/slow"));
  answering.door.wait_for_somebody();
  std::jthread ending([&] { server.end(); });
  EXPECT_EQ(idle.rest(), "");  // closed at once
  EXPECT_FALSE(TestClient(server.port()).connected());
  answering.door.open();
  const TestResponse last = busy.receive();
  EXPECT_EQ(last.status, 200);
  EXPECT_THAT(last.header, HasSubstr("Connection: close"));
}

TEST(HttpServer, AddressesThatCannotBeOpenedAreErrors) {
  Answering answering;
  HttpServerSettings settings;
  settings.host = "nowhere";
  EXPECT_EQ(HttpServer::open(settings, answering.handler()).error().field, "host");
  TestServer server(answering.handler(), small());
  settings.host = "127.0.0.1", settings.port = server.port();
  EXPECT_EQ(HttpServer::open(settings, answering.handler()).error().field, "port");
}

}  // namespace
}  // namespace tilecast
