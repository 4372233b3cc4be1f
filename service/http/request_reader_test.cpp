#include "service/http/request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tilecast {
namespace {

using State = HttpRequestReader::State;
using testing::HasSubstr;

HttpRequestReader reader_of(std::string_view bytes) {
  HttpRequestReader reader({.header_bytes = 1024, .header_fields = 10, .body_bytes = 100});
  reader.put(bytes);
  return reader;
}

const std::string kPost =
    "POST /v1/kernel?job=1&x=%41 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nX-Odd: a b\r\n\r\nhello";

TEST(HttpRequestReader, ReadsRequestLineFieldsAndBody) {
  HttpRequestReader reader = reader_of(kPost);
  ASSERT_EQ(reader.state(), State::whole);
  const HttpRequest request = reader.take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/kernel");
  EXPECT_EQ(request.parameter("job"), "1");
  EXPECT_EQ(request.parameter("x"), "A");
  EXPECT_EQ(request.parameter("absent"), "");
  EXPECT_EQ(request.field("x-odd"), "a b");
  EXPECT_EQ(request.body, "hello");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_FALSE(reader.begun());
}

TEST(HttpRequestReader, ByteByByteIsTheSame) {
  HttpRequestReader reader({});
  for (std::size_t i = 0; i < kPost.size(); ++i) {
    EXPECT_NE(reader.state(), State::whole) << i;
    reader.put(std::string_view(kPost).substr(i, 1));
  }
  ASSERT_EQ(reader.state(), State::whole);
  EXPECT_EQ(reader.take().body, "hello");
}

TEST(HttpRequestReader, RequestsBehindOneAnother) {
  HttpRequestReader reader = reader_of(kPost + kPost + "GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(reader.take().body, "hello");
  ASSERT_EQ(reader.state(), State::whole);
  EXPECT_EQ(reader.take().body, "hello");
  ASSERT_EQ(reader.state(), State::whole);
  const HttpRequest last = reader.take();
  EXPECT_EQ(last.path, "/");
  EXPECT_FALSE(last.keep_alive);
}

TEST(HttpRequestReader, SaysWhenTheClientWaits) {
  HttpRequestReader reader =
      reader_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(reader.state(), State::body);
  EXPECT_TRUE(reader.expects_continue());
}

struct Refused {
  std::string bytes;
  int status;
};
const std::string kHost = "Host: a\r\n";

TEST(HttpRequestReader, RefusesWhatIsAmbiguousOrTooMuch) {
  const std::vector<Refused> all = {
      {"GET / HTTP/1.1\r\n\r\n", 400},                                 // no host
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},           // two
      {"GET / HTTP/1.1\nHost: a\n\n", 400},                            // bare line feeds
      {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},                        //
      {"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400},           // a folded line
      {"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400},           // a bare carriage return
      {std::string("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29), 400},  // a zero byte
      {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},                     // a space before the colon
      {"GET / HTTP/1.1\r\n: a\r\nHost: a\r\n\r\n", 400},               // no name
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},                     // two spaces
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},                      // another version
      {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},                      //
      {"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},              // a proxy's address
      {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400},                  //
      {"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400},                   // an encoded zero
      {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},                   // no encoding
      {"POST / HTTP/1.1\r\n" + kHost + "\r\n", 411},                   // no length
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 3, 3\r\n\r\nabc", 400},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411},
      {"POST / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: identity\r\n\r\n", 411},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: +3\r\n\r\nabc", 400},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 0x3\r\n\r\nabc", 400},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 99999999999999999999999\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 101\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc", 415},
      {"GET / HTTP/1.1\r\n" + kHost + "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\n" + kHost + "Content-Length: 3\r\nExpect: wonders\r\n\r\n", 417},
      {"GET / HTTP/1.1\r\n" + kHost + "X: " + std::string(2000, 'a') + "\r\n\r\n", 431},
      {"GET /" + std::string(2000, 'a'), 431},
  };
  for (const Refused& one : all) {
    const HttpRequestReader reader = reader_of(one.bytes);
    ASSERT_EQ(reader.state(), State::refused) << one.bytes;
    EXPECT_EQ(reader.refusal().status, one.status) << one.bytes << reader.refusal().problem.line();
    EXPECT_FALSE(reader.refusal().problem.problem.empty());
    EXPECT_FALSE(reader.refusal().problem.remedy.empty());
  }
  std::string many = "GET / HTTP/1.1\r\n" + kHost;
  for (int i = 0; i < 20; ++i) many += "X: 1\r\n";
  EXPECT_EQ(reader_of(many + "\r\n").refusal().status, 431);
}

// Whatever is done to a good request: all of it at once or byte by byte comes to the same end.
TEST(HttpRequestReader, MutilatedRequestsEndTheSameHoweverTheyCome) {
  std::mt19937 random(7);
  const auto any = [&](std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); };
  const std::vector<std::string> pieces = {"\r\n",
                                           "\n",
                                           "\r",
                                           " ",
                                           ":",
                                           "Content-Length: 4\r\n",
                                           "\r\n\r\n",
                                           "%2e",
                                           "HTTP/1.1",
                                           std::string(1, '\0'),
                                           "\t",
                                           "Transfer-Encoding: chunked\r\n",
                                           "\xff",
                                           "Host: b\r\n",
                                           "Expect: 100-continue\r\n"};
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = kPost;
    for (std::size_t change = 0; change <= any(3); ++change) {
      const std::size_t at = any(bytes.size());
      switch (any(3)) {
        case 0: bytes.erase(at, 1 + any(4)); break;
        case 1: bytes.insert(at, pieces[any(pieces.size())]); break;
        default: bytes[at] = static_cast<char>(any(256));
      }
      if (bytes.empty()) bytes = "x";
    }
    const HttpRequestReader whole = reader_of(bytes);
    HttpRequestReader slow({.header_bytes = 1024, .header_fields = 10, .body_bytes = 100});
    for (const char c : bytes) slow.put({&c, 1});
    ASSERT_EQ(whole.state() == State::refused, slow.state() == State::refused) << bytes;
    if (whole.state() == State::refused) {
      EXPECT_EQ(whole.refusal().status / 100 == 4 || whole.refusal().status > 500, true);
      ++refused;
    } else if (whole.state() == State::whole) {
      EXPECT_EQ(whole.request().body, slow.request().body) << bytes;
      EXPECT_EQ(whole.request().path, slow.request().path);
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tilecast
