#include "service/http/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "service/http/response_text.h"

namespace tilecast {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds kEventPause{50};     // between looks for new events
constexpr milliseconds kKeepAlive{15'000};  // a comment that tells proxies and browsers that events may still come
constexpr milliseconds kLinger{1'000};      // for a refused client to read why
constexpr std::size_t kMostLingered = 1 << 20;

}  // namespace

void HttpConnection::start() {
  admitted_ = true;
  error_code ignored;
  const auto peer = socket_.remote_endpoint(ignored);
  peer_ = ignored ? "" : peer.address().to_string();
  socket_.set_option(tcp::no_delay(true), ignored);
  await_request();
}

void HttpConnection::turn_away() {
  began_ = Clock::now();
  respond(error_response(503, error("too many connections", "try again later")), true);
}

void HttpConnection::await_request() {
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

void HttpConnection::read() {
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

void HttpConnection::took(std::size_t bytes) {
  if (phase_ == Phase::idle) {
    began_ = Clock::now();
    enter(Phase::header, server_.settings().header_time);
  }
  reader_.put({input_.data(), bytes});
  const std::size_t now = reader_.buffered();
  const bool room = server_.hold(held_, now);
  held_ = now;
  if (!room) return respond(error_response(503, error("too many bodies are on their way", "try again later")), true);
  advance();
}

void HttpConnection::advance() {
  using State = HttpRequestReader::State;
  if (reader_.state() == State::refused) {
    return respond(error_response(reader_.refusal().status, reader_.refusal().problem), true);
  }
  if (reader_.state() == State::header) return read();
  if (!header_seen_) {
    header_seen_ = true;
    exchange_.method = reader_.request().method, exchange_.path = reader_.request().path;
    if (auto refused = server_.handler().refuse(reader_.request())) {
      const bool whole = reader_.state() == State::whole;
      const bool last = !whole || !reader_.request().keep_alive;
      if (whole) reader_.take();  // on to the next; else what is left of the body is in the way
      return respond(*std::move(refused), last);
    }
    header_came();
    return;
  }
  reader_.state() == State::whole ? dispatch() : read();
}

void HttpConnection::header_came() {
  if (reader_.state() == HttpRequestReader::State::whole) return dispatch();
  enter(Phase::body, server_.settings().body_time);
  if (!reader_.expects_continue()) return read();
  output_ = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket_, asio::buffer(output_), [self = shared_from_this()](error_code failure, std::size_t) {
    if (self->phase_ == Phase::closed) return;
    failure ? self->close() : self->read();
  });
}

void HttpConnection::dispatch() {
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

void HttpConnection::respond(HttpResponse response, bool close) {
  close_after_ = close || response.close || server_.ending();
  exchange_.status = response.status;
  exchange_.reason = std::move(response.reason);
  response.close = close_after_ || response.events;
  const bool headless = exchange_.method == "HEAD";
  output_ = response_text(response, headless);
  events_ = std::move(response.events);
  exchange_.sent = headless ? 0 : response.body.size();
  enter(Phase::writing, server_.settings().write_time);
  asio::async_write(socket_, asio::buffer(output_),
                    [self = shared_from_this()](error_code failure, std::size_t) { self->written(failure); });
}

void HttpConnection::written(error_code failure) {
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

void HttpConnection::send_events() {
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
void HttpConnection::linger() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  enter(Phase::lingering, kLinger);
  read();
}

void HttpConnection::report() {
  exchange_.peer = peer_;
  exchange_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  server_.handler().done(exchange_);
  exchange_ = {};
}

void HttpConnection::check_deadline(Clock::time_point now) {
  if (phase_ == Phase::answering || phase_ == Phase::events || phase_ == Phase::closed || now < deadline_) return;
  if (phase_ != Phase::header && phase_ != Phase::body) return close();
  // The read under way ends with the socket's other half.
  respond(error_response(408, error("the request took too long to come", "send it faster")), true);
}

void HttpConnection::close() {
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

}  // namespace tilecast
