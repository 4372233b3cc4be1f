// The only file that sees Asio.
#include "service/http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <set>

#include "service/http/lanes.h"
#include "service/http/response_text.h"

namespace tilecast {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSweep{100};           // how often deadlines are looked at
constexpr milliseconds kEventPause{50};       // between looks for new events
constexpr milliseconds kKeepAlive{15'000};    // a comment that tells proxies and browsers that events may still come
constexpr milliseconds kLinger{1'000};        // for a refused client to read why
constexpr std::size_t kMostLingered = 1 << 20;

class Connection;

class Server final : public HttpServer {
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
    return {connection_count_,   buffered_,        quick_.waiting(), quick_.running(),
            long_.waiting(), long_.running()};
  }

  const HttpServerSettings& settings() const { return settings_; }
  const HttpHandler& handler() const { return handler_; }
  asio::io_context& io() { return io_; }
  bool ending() const { return ending_; }
  bool run_on(HttpLaneKind kind, std::function<void()> task) {
    return (kind == HttpLaneKind::lengthy ? long_ : quick_).add(std::move(task));
  }
  void leave(const std::shared_ptr<Connection>& connection);
  // Accounts for bytes that a connection holds; false where all of them together would be too many.
  bool hold(std::size_t before, std::size_t now) {
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
  std::set<std::shared_ptr<Connection>> connections_;
  std::atomic<std::size_t> connection_count_{0}, buffered_{0};
  std::uint16_t port_ = 0;
  bool ending_ = false;
  Clock::time_point end_by_;
  HttpLane quick_, long_;  // last: their threads end before what they use goes
};

// One client. Everything here runs on the thread of the sockets.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Server& server, tcp::socket socket)
      : server_(server), socket_(std::move(socket)), timer_(server.io()), reader_(server.settings().reader) {}

  void start() {
    error_code ignored;
    const auto peer = socket_.remote_endpoint(ignored);
    peer_ = ignored ? "" : peer.address().to_string();
    socket_.set_option(tcp::no_delay(true), ignored);
    await_request();
  }
  // Refuses at the door.
  void turn_away() {
    began_ = Clock::now();
    respond(error_response(503, error("too many connections", "try again later")), true);
  }
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
  void written(error_code failure);
  void send_events();
  void linger();
  void report();
  void close();
  void enter(Phase phase, milliseconds time) {
    phase_ = phase;
    deadline_ = Clock::now() + time;
  }

  Server& server_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  HttpRequestReader reader_;
  std::array<char, 16384> input_;
  std::string output_, peer_;
  HttpExchange exchange_;
  std::shared_ptr<HttpEvents> events_;
  Phase phase_ = Phase::idle;
  Clock::time_point deadline_, began_, last_sent_;
  std::size_t held_ = 0, lingered_ = 0;
  bool close_after_ = false, header_seen_ = false;
};

void Connection::await_request() {
  enter(Phase::idle, server_.settings().idle_time);
  header_seen_ = false;
  if (reader_.begun() || reader_.state() == HttpRequestReader::State::refused) {  // it came behind the last one
    began_ = Clock::now();
    enter(Phase::header, server_.settings().header_time);
    return advance();
  }
  if (server_.ending()) return close();
  read();
}

void Connection::read() {
  socket_.async_read_some(asio::buffer(input_), [self = shared_from_this()](error_code failure, std::size_t bytes) {
    if (self->phase_ == Phase::closed) return;
    if (self->phase_ == Phase::lingering) {
      self->lingered_ += bytes;
      return failure || self->lingered_ > kMostLingered ? self->close() : self->read();
    }
    const bool wanted = self->phase_ == Phase::idle || self->phase_ == Phase::header || self->phase_ == Phase::body;
    if (!wanted) return;  // a refusal is on its way already
    if (failure) return self->close();
    self->took(bytes);
  });
}

void Connection::took(std::size_t bytes) {
  if (phase_ == Phase::idle) {
    began_ = Clock::now();
    enter(Phase::header, server_.settings().header_time);
  }
  reader_.put({input_.data(), bytes});
  const std::size_t now = reader_.buffered();
  const bool room = server_.hold(held_, now);
  held_ = now;
  if (!room)
    return respond(error_response(503, error("too many bodies are on their way", "try again later")), true);
  advance();
}

void Connection::advance() {
  using State = HttpRequestReader::State;
  if (reader_.state() == State::refused) {
    exchange_.reason = reader_.refusal().problem.problem;
    return respond(error_response(reader_.refusal().status, reader_.refusal().problem), true);
  }
  if (reader_.state() == State::header) return read();
  if (!header_seen_) {
    header_seen_ = true;
    exchange_.method = reader_.request().method, exchange_.path = reader_.request().path;
    if (auto refused = server_.handler().refuse(reader_.request())) {
      const bool with_body = reader_.body_size() > 0;
      return respond(*std::move(refused), with_body || !reader_.request().keep_alive);
    }
    header_came();
    return;
  }
  reader_.state() == State::whole ? dispatch() : read();
}

void Connection::header_came() {
  if (reader_.state() == HttpRequestReader::State::whole) return dispatch();
  enter(Phase::body, server_.settings().body_time);
  if (!reader_.expects_continue()) return read();
  output_ = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket_, asio::buffer(output_), [self = shared_from_this()](error_code failure, std::size_t) {
    if (self->phase_ == Phase::closed) return;
    failure ? self->close() : self->read();
  });
}

void Connection::dispatch() {
  phase_ = Phase::answering;
  HttpRequest request = reader_.take();
  request.peer = peer_;
  exchange_.received = request.body.size();
  const bool last = !request.keep_alive;
  const HttpLaneKind kind = server_.handler().lane(request);
  if (kind == HttpLaneKind::at_once) return respond(server_.handler().answer(std::move(request)), last);
  auto shared = std::make_shared<HttpRequest>(std::move(request));
  const bool taken = server_.run_on(kind, [self = shared_from_this(), shared, last] {
    auto response = std::make_shared<HttpResponse>(self->server_.handler().answer(std::move(*shared)));
    asio::post(self->server_.io(), [self, response, last] {
      if (self->phase_ != Phase::closed) self->respond(std::move(*response), last);
    });
  });
  if (taken) return;
  HttpResponse busy = error_response(503, error("too many questions wait already", "try again later"));
  busy.fields.emplace_back("Retry-After", "1");
  respond(std::move(busy), last);
}

void Connection::respond(HttpResponse response, bool close) {
  close_after_ = close || response.close || server_.ending();
  exchange_.status = response.status;
  events_ = std::move(response.events);
  response.close = close_after_ || events_;
  const bool headless = exchange_.method == "HEAD";
  output_ = response_text(response, headless);
  exchange_.sent = headless ? 0 : response.body.size();
  enter(Phase::writing, server_.settings().write_time);
  asio::async_write(socket_, asio::buffer(output_),
                    [self = shared_from_this()](error_code failure, std::size_t) { self->written(failure); });
}

void Connection::written(error_code failure) {
  if (phase_ == Phase::closed) return;
  if (failure) return close();
  last_sent_ = Clock::now();
  if (events_) return send_events();
  report();
  output_ = {};
  server_.hold(held_, reader_.buffered());
  held_ = reader_.buffered();
  if (close_after_) return linger();
  await_request();
}

void Connection::send_events() {
  if (events_->finished()) {
    events_.reset();
    report();
    return linger();
  }
  output_ = events_->take();
  if (output_.empty() && Clock::now() - last_sent_ > kKeepAlive) output_ = ": still here\n\n";
  if (!output_.empty()) {
    exchange_.sent += output_.size();
    enter(Phase::writing, server_.settings().write_time);
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this()](error_code failure, std::size_t) { self->written(failure); });
    return;
  }
  phase_ = Phase::events;
  timer_.expires_after(kEventPause);
  timer_.async_wait([self = shared_from_this()](error_code) {
    if (self->phase_ == Phase::events) self->send_events();
  });
}

// A connection closed while the client still sends is reset, and the client would never read why.
void Connection::linger() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  enter(Phase::lingering, kLinger);
  read();
}

void Connection::report() {
  exchange_.peer = peer_;
  exchange_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  server_.handler().done(exchange_);
  exchange_ = {};
}

void Connection::check_deadline(Clock::time_point now) {
  if (phase_ == Phase::answering || phase_ == Phase::events || phase_ == Phase::closed || now < deadline_) return;
  if (phase_ != Phase::header && phase_ != Phase::body) return close();
  // The read under way ends with the socket's other half.
  exchange_.reason = "too slow";
  respond(error_response(408, error("the request took too long to come", "send it faster")), true);
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  events_.reset();
  error_code ignored;
  timer_.cancel(ignored);
  socket_.close(ignored);
  server_.hold(held_, 0);
  held_ = 0;
  server_.leave(shared_from_this());
}

Status Server::listen() {
  error_code failure;
  const auto address = asio::ip::make_address(settings_.host, failure);
  if (failure) return field_error("host", "'" + settings_.host + "' is no address", "for example 127.0.0.1 or ::1");
  const tcp::endpoint endpoint(address, settings_.port);
  acceptor_.open(endpoint.protocol(), failure);
  if (!failure) acceptor_.set_option(tcp::acceptor::reuse_address(true), failure);
  if (!failure) acceptor_.bind(endpoint, failure);
  if (!failure) acceptor_.listen(asio::socket_base::max_listen_connections, failure);
  if (failure)
    return field_error("port", fmt::format("{}:{} cannot be opened: {}", settings_.host, settings_.port, failure.message()),
                       "choose another --port; 0 takes any that is free");
  port_ = acceptor_.local_endpoint().port();
  return Ok{};
}

void Server::accept() {
  acceptor_.async_accept([this](error_code failure, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!failure) {
      const bool full = connections_.size() >= settings_.connections;
      auto connection = std::make_shared<Connection>(*this, std::move(socket));
      // A few more than the limit are told so; beyond that there is no word.
      if (connections_.size() < settings_.connections + settings_.connections / 8 + 1) {
        connections_.insert(connection);
        connection_count_ = connections_.size();
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

void Server::leave(const std::shared_ptr<Connection>& connection) {
  connections_.erase(connection);
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
  io_.run();
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(const HttpServerSettings& settings, HttpHandler handler) {
  auto server = std::make_unique<Server>(settings, std::move(handler));
  if (auto listening = server->listen(); !listening) return std::move(listening).error();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace tilecast
