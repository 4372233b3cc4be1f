#include "service/http/guard.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

HttpRequest request_of(HttpFields fields, std::string path = "/v1/gpus", std::string method = "GET") {
  HttpRequest request;
  request.method = std::move(method), request.path = std::move(path), request.fields = std::move(fields);
  return request;
}
int status_of(const HttpGuard& guard, const HttpRequest& request) {
  const auto refused = refused_by(guard, request);
  return refused ? refused->status : 200;
}

// A name that another site's DNS points here would make that site's pages ours.
TEST(HttpGuard, OnItsOwnAddressItAnswersToTheMachinesNamesAlone) {
  const HttpGuard guard;
  for (const char* host : {"localhost", "localhost:8421", "127.0.0.1:8421", "127.1.2.3", "[::1]:8421", "[::1]"})
    EXPECT_EQ(status_of(guard, request_of({{"host", host}})), 200) << host;
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[::2]:1", "x"})
    EXPECT_EQ(status_of(guard, request_of({{"host", host}})), 421) << host;
  EXPECT_EQ(status_of({.hosts = {"tilecast.example"}}, request_of({{"host", "tilecast.example:80"}})), 200);
  EXPECT_EQ(status_of({.token = "", .loopback = false}, request_of({{"host", "any.example"}})), 200);
}

TEST(HttpGuard, PagesOfOtherSitesMayNotAsk) {
  const HttpGuard guard;
  const std::pair<std::string, std::string> host{"host", "localhost:8421"};
  EXPECT_EQ(status_of(guard, request_of({host, {"origin", "http://localhost:8421"}})), 200);
  for (const char* origin :
       {"http://evil.example", "null", "http://localhost:8422", "http://localhost:84211", "file://"})
    EXPECT_EQ(status_of(guard, request_of({host, {"origin", origin}})), 403) << origin;
  EXPECT_EQ(status_of(guard, request_of({host, {"sec-fetch-site", "same-origin"}})), 200);
  EXPECT_EQ(status_of(guard, request_of({host, {"sec-fetch-site", "none"}})), 200);
  for (const char* site : {"cross-site", "same-site"})
    EXPECT_EQ(status_of(guard, request_of({host, {"sec-fetch-site", site}})), 403) << site;
  // Somebody follows a link: the browser shows the page and hands it to nobody.
  EXPECT_EQ(
      status_of(
          guard,
          request_of(
              {host, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "document"}},
              "/")),
      200);
  EXPECT_EQ(
      status_of(
          guard,
          request_of(
              {host, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "iframe"}},
              "/")),
      403);
}

TEST(HttpGuard, AllowedSitesAreToldSo) {
  const HttpGuard guard{.origins = {"https://tools.example"}};
  HttpRequest request =
      request_of({{"host", "localhost"}, {"origin", "https://tools.example"}, {"sec-fetch-site", "cross-site"}});
  EXPECT_EQ(status_of(guard, request), 200);
  EXPECT_EQ(origin_fields(guard, request).at(0).second, "https://tools.example");
  request.method = "OPTIONS";
  EXPECT_EQ(origin_fields(guard, request).size(), 5u);
  EXPECT_TRUE(origin_fields(guard, request_of({{"origin", "https://other.example"}})).empty());
  EXPECT_TRUE(origin_fields(guard, request_of({})).empty());
}

TEST(HttpGuard, TheTokenIsNeededForQuestions) {
  const HttpGuard guard{.token = "0123456789abcdef", .loopback = false};
  const auto with = [&](const char* shown, std::string path = "/v1/gpus") {
    return status_of(guard, request_of({{"host", "a"}, {"authorization", shown}}, std::move(path)));
  };
  EXPECT_EQ(with("Bearer 0123456789abcdef"), 200);
  for (const char* shown :
       {"", "Bearer ", "Bearer 0123456789abcdeg", "Bearer 0123456789abcdef0", "Bearer 0123456789abcde",
        "0123456789abcdef", "bearer 0123456789abcdef", "Basic 0123456789abcdef"})
    EXPECT_EQ(with(shown), 401) << shown;
  EXPECT_EQ(with("", "/metrics"), 401);
  EXPECT_EQ(with("", "/v1"), 401);
  EXPECT_EQ(with("", "/healthz"), 200);
  EXPECT_EQ(with("", "/"), 200);
}

TEST(HttpGuard, SecretsAreComparedWhole) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_TRUE(same_secret("", ""));
  for (const char* other : {"", "ab", "abd", "abcabc", "xbc"}) EXPECT_FALSE(same_secret("abc", other)) << other;
}

}  // namespace
}  // namespace tilecast
