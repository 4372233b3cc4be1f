// A server in this process on a free port, and a client that sends whatever a test likes.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "service/http/server.h"

namespace tilecast {

class TestServer {
 public:
  explicit TestServer(HttpHandler handler, HttpServerSettings settings = {}) {
    settings.port = 0;
    auto opened = HttpServer::open(settings, std::move(handler));
    if (!opened) {
      ADD_FAILURE() << opened.error().line();
      return;
    }
    server_ = *std::move(opened);
    thread_ = std::jthread([this] { server_->run(); });
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() { end(); }
  // Returns when it has ended.
  void end() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }
  std::uint16_t port() const { return server_->port(); }
  HttpServer& server() { return *server_; }

 private:
  std::unique_ptr<HttpServer> server_;
  std::jthread thread_;
};

struct TestResponse {
  int status = 0;  // 0: the connection was cut off
  std::string header, body;
};

class TestClient {
 public:
  explicit TestClient(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(port), to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    const timeval patience{30, 0};  // a server that says nothing fails the test rather than stop it
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;
  ~TestClient() { close(socket_); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void send_no_more() { shutdown(socket_, SHUT_WR); }
  bool connected() const { return connected_; }

  TestResponse receive(bool without_body = false) {
    TestResponse response;
    std::size_t end = std::string::npos;
    while ((end = pending_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return response;
    response.header = pending_.substr(0, end + 2);
    pending_.erase(0, end + 4);
    response.status = std::atoi(response.header.c_str() + 9);
    if (response.status == 100) return receive(without_body);
    const auto length = response.header.find("Content-Length: ");
    const std::size_t wanted = length == std::string::npos || without_body
                                   ? 0
                                   : static_cast<std::size_t>(std::atoll(response.header.c_str() + length + 16));
    while (pending_.size() < wanted)
      if (!more()) return {};
    response.body = pending_.substr(0, wanted);
    pending_.erase(0, wanted);
    return response;
  }
  // All that comes until the other side closes.
  std::string rest() {
    while (more()) {
    }
    return std::exchange(pending_, {});
  }

 private:
  bool more() {
    char block[4096];
    const ssize_t got = recv(socket_, block, sizeof block, 0);
    if (got <= 0) return false;
    pending_.append(block, static_cast<std::size_t>(got));
    return true;
  }
  int socket_;
  bool connected_ = false;
  std::string pending_;
};

inline std::string get_text(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}
inline std::string post_text(const std::string& path, const std::string& body, const std::string& fields = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
inline TestResponse fetched(std::uint16_t port, const std::string& request) {
  TestClient client(port);
  client.send(request);
  return client.receive(request.starts_with("HEAD "));
}

}  // namespace tilecast
