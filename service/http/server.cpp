#include "service/http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <new>
#include <set>

#include "service/http/connection.h"
#include "service/http/lanes.h"

namespace tilecast {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSweep{100};  // how often deadlines are looked at

class Server final : public HttpServer, public HttpConnections {
 public:
  Server(const HttpServerSettings& settings, HttpHandler handler)
      : settings_(settings),
        handler_(std::move(handler)),
        quick_(settings.quick_threads, settings.quick_queue),
        long_(settings.long_threads, settings.long_queue) {}

  Status listen();
  std::uint16_t port() const override { return port_; }
  void run() override;
  void stop() override {
    asio::post(io_, [this] { end(); });
  }
  HttpLoad load() const override {
    return {connection_count_, buffered_, quick_.waiting(), quick_.running(), long_.waiting(), long_.running()};
  }

  const HttpServerSettings& settings() const override { return settings_; }
  const HttpHandler& handler() const override { return handler_; }
  asio::io_context& io() override { return io_; }
  bool ending() const override { return ending_; }
  bool run_on(HttpLaneKind kind, std::function<void()> task) override {
    return (kind == HttpLaneKind::lengthy ? long_ : quick_).add(std::move(task));
  }
  void leave(const std::shared_ptr<HttpConnection>& connection) override;
  bool hold(std::size_t before, std::size_t now) override {
    buffered_ += now - before;
    return now <= before || now <= kExempt || buffered_ <= settings_.buffered_bytes;
  }

 private:
  static constexpr std::size_t kExempt = 64 << 10;  // questions without files go through however full it is

  void accept();
  void sweep();
  void end();

  const HttpServerSettings settings_;
  const HttpHandler handler_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer sweeper_{io_}, pause_{io_};
  asio::signal_set signals_{io_};
  std::set<std::shared_ptr<HttpConnection>> connections_;
  std::atomic<std::size_t> connection_count_{0}, buffered_{0};
  std::uint16_t port_ = 0;
  std::size_t admitted_ = 0;  // of the connections, those that were not turned away
  bool ending_ = false;
  Clock::time_point end_by_;
  HttpLane quick_, long_;  // last: their threads end before what they use goes
};

Status Server::listen() {
  error_code failure;
  const auto address = asio::ip::make_address(settings_.host, failure);
  if (failure) return field_error("host", "'" + settings_.host + "' is not an address", "for example 127.0.0.1 or ::1");
  const tcp::endpoint endpoint(address, settings_.port);
  acceptor_.open(endpoint.protocol(), failure);
  if (!failure) acceptor_.set_option(tcp::acceptor::reuse_address(true), failure);
  if (!failure) acceptor_.bind(endpoint, failure);
  if (!failure) acceptor_.listen(asio::socket_base::max_listen_connections, failure);
  if (failure)
    return field_error("port",
                       fmt::format("{}:{} cannot be opened: {}", settings_.host, settings_.port, failure.message()),
                       "choose another --port; 0 takes any that is free");
  port_ = acceptor_.local_endpoint().port();
  return Ok{};
}

void Server::accept() {
  acceptor_.async_accept([this](error_code failure, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!failure) {
      const bool full = admitted_ >= settings_.connections;
      auto connection = std::make_shared<HttpConnection>(*this, std::move(socket));
      // A few more than the limit are told so; beyond that there is no word.
      if (connections_.size() < settings_.connections + settings_.connections / 8 + 8) {
        connections_.insert(connection);
        connection_count_ = connections_.size();
        if (!full) ++admitted_;
        full ? connection->turn_away() : connection->start();
      }
    }
    if (!failure) return accept();
    // Out of descriptors, say: it would fail again at once.
    pause_.expires_after(kSweep);
    pause_.async_wait([this](error_code) {
      if (acceptor_.is_open()) accept();
    });
  });
}

void Server::sweep() {
  sweeper_.expires_after(kSweep);
  sweeper_.async_wait([this](error_code) {
    const auto now = Clock::now();
    const auto all = std::vector(connections_.begin(), connections_.end());
    for (const auto& connection : all) {
      if (ending_ && now > end_by_) connection->abandon();
      else connection->check_deadline(now);
    }
    if (!ending_ || !connections_.empty()) sweep();
  });
}

void Server::end() {
  if (ending_) return;
  ending_ = true;
  end_by_ = Clock::now() + settings_.grace;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel(ignored);
  signals_.cancel(ignored);
  for (const auto& connection : std::vector(connections_.begin(), connections_.end())) connection->end();
}

void Server::leave(const std::shared_ptr<HttpConnection>& connection) {
  if (connections_.erase(connection) > 0 && connection->admitted()) --admitted_;
  connection_count_ = connections_.size();
}

void Server::run() {
  if (settings_.signals) {
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    signals_.async_wait([this](error_code failure, int) {
      if (!failure) end();
    });
  }
  accept();
  sweep();
  // Memory can run out while a request is read: that connection is lost, the others are not.
  for (bool ended = false; !ended;) {
    try {
      io_.run();
      ended = true;
    } catch (const std::bad_alloc&) {
    }
  }
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(const HttpServerSettings& settings, HttpHandler handler) {
  auto server = std::make_unique<Server>(settings, std::move(handler));
  if (auto listening = server->listen(); !listening) return std::move(listening).error();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace tilecast
