// A client's connection, as the server sees it. Only server.cpp and connection.cpp include this: Asio is behind it.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "service/http/server.h"

namespace tilecast {

class HttpConnection;

// What a connection may ask of its server.
class HttpConnections {
 public:
  virtual ~HttpConnections() = default;
  virtual const HttpServerSettings& settings() const = 0;
  virtual const HttpHandler& handler() const = 0;
  virtual boost::asio::io_context& io() = 0;
  virtual bool ending() const = 0;
  // False where too many wait already.
  virtual bool run_on(HttpLaneKind kind, std::function<void()> task) = 0;
  virtual void leave(const std::shared_ptr<HttpConnection>& connection) = 0;
  // Accounts for bytes that a connection holds; false where all of them together would be too many.
  virtual bool hold(std::size_t before, std::size_t now) = 0;
};

// One client. Everything here runs on the thread of the sockets.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Clock = std::chrono::steady_clock;

  HttpConnection(HttpConnections& server, boost::asio::ip::tcp::socket socket)
      : server_(server), socket_(std::move(socket)), timer_(server.io()), reader_(server.settings().reader) {}

  void start();
  bool admitted() const { return admitted_; }
  // Refuses at the door.
  void turn_away();
  void check_deadline(Clock::time_point now);
  void end() {
    if (phase_ == Phase::idle) close();
  }
  void abandon() { close(); }

 private:
  enum class Phase { idle, header, body, answering, writing, events, lingering, closed };

  void await_request();
  void read();
  void took(std::size_t bytes);
  void advance();
  void header_came();
  void dispatch();
  void respond(HttpResponse response, bool close);
  void written(boost::system::error_code failure);
  void send_events();
  void linger();
  void report();
  void close();
  void enter(Phase phase, std::chrono::milliseconds time) {
    phase_ = phase;
    deadline_ = Clock::now() + time;
  }

  HttpConnections& server_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  HttpRequestReader reader_;
  std::array<char, 16384> input_;
  std::string output_, peer_;
  HttpExchange exchange_;
  std::shared_ptr<HttpEvents> events_;
  Phase phase_ = Phase::idle;
  Clock::time_point deadline_, began_, last_sent_;
  std::size_t held_ = 0, lingered_ = 0;
  bool close_after_ = false, header_seen_ = false, admitted_ = false;
};

}  // namespace tilecast
