#include "vig/serve/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <unordered_set>

#include "vig/base/error.h"

namespace vig {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;

std::chrono::milliseconds duration(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

std::string error_body(const std::string& kind, const std::string& sentence) {
  // Both are our own words, without quotes.
  return "{\"error\":{\"kind\":\"" + kind + "\",\"message\":\"" + sentence + "\"}}\n";
}

}  // namespace

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  class Connection;

  Impl(const HttpOptions& server_options, HandleRequest handler, ServerMetrics& counters)
      : options(server_options),
        handle(std::move(handler)),
        metrics(counters),
        acceptor(io),
        drain(io) {}

  void listen();
  void accept();
  void begin_stop();
  void leave(Connection* connection);
  std::vector<std::shared_ptr<Connection>> all_open();  // closing one changes the set
  void close_all();

  const HttpOptions options;
  const HandleRequest handle;
  ServerMetrics& metrics;
  asio::io_context io{1};
  tcp::acceptor acceptor;
  asio::steady_timer drain;
  std::unordered_set<Connection*> open;  // used by the server's thread alone
  std::atomic<size_t> count{0};
  bool stopping = false;
};

// One client. Requests of a connection are answered one after the other.
class HttpServer::Impl::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<Impl> server)
      : stream_(std::move(socket)), server_(std::move(server)) {
    server_->open.insert(this);
    server_->count = server_->open.size();
  }
  ~Connection() { server_->leave(this); }

  void read_head() {
    busy_ = false;
    if (server_->stopping) return close();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(server_->options.header_bytes));
    parser_->body_limit(server_->options.body_bytes);
    stream_.expires_after(duration(server_->options.idle_seconds));
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, size_t) { self->head_is_read(error); });
  }
  // Ends it unless a request is being answered.
  void end_if_idle() {
    if (!busy_) close();
  }
  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }
  // Says that there are too many connections.
  void refuse() {
    busy_ = true;
    answer({503, "application/json",
            error_body("too_many_connections", "too many connections are open"), 1},
           /*keep=*/false);
  }

 private:
  void head_is_read(error_code error) {
    if (error) return refuse_request(error);
    busy_ = true;
    stream_.expires_after(duration(server_->options.request_seconds));
    const auto& head = parser_->get();
    if (beast::iequals(head[http::field::expect], "100-continue")) {
      go_on_.emplace(http::status::continue_, head.version());
      http::async_write(stream_, *go_on_, [self = shared_from_this()](error_code failed, size_t) {
        if (failed) return self->close();
        self->read_body();
      });
      return;
    }
    read_body();
  }

  void read_body() {
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, size_t) { self->request_is_read(error); });
  }

  void request_is_read(error_code error) {
    if (error) return refuse_request(error);
    stream_.expires_never();
    auto message = parser_->release();
    version_ = message.version();
    keep_alive_ = message.keep_alive();
    head_only_ = message.method() == http::verb::head;
    HttpRequest request;
    request.method = head_only_ ? "GET" : text_of(message.method_string());
    const std::string target = text_of(message.target());
    const size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string::npos) request.query = target.substr(question + 1);
    request.content_type = text_of(message[http::field::content_type]);
    request.authorization = text_of(message[http::field::authorization]);
    request.body = std::move(message.body());
    // The answer comes from any thread, and is written by the server's own.
    const auto respond = [self = shared_from_this()](HttpResponse response) {
      asio::post(self->stream_.get_executor(), [self, answer = std::move(response)]() mutable {
        self->answer(std::move(answer), self->keep_alive_);
      });
    };
    server_->handle(std::move(request), respond);
  }

  // What a client gets whose request cannot be read.
  void refuse_request(error_code error) {
    const auto refuse = [&](int status, const char* kind, const char* sentence) {
      server_->metrics.error(kind);
      busy_ = true;
      answer({status, "application/json", error_body(kind, sentence), 0}, /*keep=*/false);
    };
    if (error == http::error::end_of_stream || error == asio::error::operation_aborted ||
        error == asio::error::connection_reset) {
      return close();
    }
    if (error == beast::error::timeout) {
      // Somebody who sent nothing waits for nothing.
      if (!busy_ && buffer_.size() == 0) return close();
      server_->metrics.error("timeout");
      return close();
    }
    if (error == http::error::body_limit) {
      return refuse(413, "too_large", "the body is larger than this server accepts");
    }
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return refuse(431, "header_too_large", "the header is larger than this server accepts");
    }
    if (error == http::error::partial_message) {
      server_->metrics.error("partial_request");
      return close();
    }
    refuse(400, "bad_http", "the request is not HTTP/1.1 as this server reads it");
  }

  void answer(HttpResponse from, bool keep) {
    response_ = {};
    response_.result(static_cast<unsigned>(from.status));
    response_.version(version_);
    response_.set(http::field::server, "vig");
    response_.set(http::field::content_type, from.content_type);
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set(http::field::cache_control, "no-store");
    if (from.retry_after > 0) {
      response_.set(http::field::retry_after, std::to_string(from.retry_after));
    }
    response_.keep_alive(keep && !server_->stopping);
    response_.body() = std::move(from.body);
    response_.prepare_payload();
    stream_.expires_after(duration(server_->options.request_seconds));
    const auto done = [self = shared_from_this()](error_code error, size_t) {
      if (error) {
        self->close();
      } else if (self->response_.keep_alive()) {
        self->read_head();
      } else {
        self->finish();
      }
    };
    if (head_only_) {
      serializer_.emplace(response_);
      http::async_write_header(stream_, *serializer_, done);
    } else {
      http::async_write(stream_, response_, done);
    }
  }

  // The last answer is written. What the client still sends is read for a moment: closing with
  // unread bytes would reset the connection and take the answer away from the client.
  void finish() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(std::chrono::seconds(2));
    swallow();
  }
  void swallow() {
    stream_.async_read_some(asio::buffer(rest_),
                            [self = shared_from_this()](error_code error, size_t bytes) {
                              self->swallowed_ += bytes;
                              constexpr size_t kMost = size_t{1} << 20;
                              if (error || self->swallowed_ > kMost) return self->close();
                              self->swallow();
                            });
  }

  beast::tcp_stream stream_;
  const std::shared_ptr<Impl> server_;
  beast::flat_buffer buffer_{1 << 20};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::empty_body>> go_on_;
  http::response<http::string_body> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::array<char, 4096> rest_{};
  size_t swallowed_ = 0;
  unsigned version_ = 11;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool busy_ = false;  // a request is being read or answered
};

void HttpServer::Impl::leave(Connection* connection) {
  open.erase(connection);
  count = open.size();
  if (stopping && open.empty()) drain.cancel();
}

void HttpServer::Impl::listen() {
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) {
    fail_usage("--listen {}: expected an address such as 127.0.0.1 or ::1", options.address);
  }
  const tcp::endpoint endpoint(address, options.port);
  const auto check = [&] {
    if (error)
      fail("cannot listen on {} port {}: {}", options.address, options.port, error.message());
  };
  acceptor.open(endpoint.protocol(), error);
  check();
  acceptor.set_option(asio::socket_base::reuse_address(true), error);
  check();
  acceptor.bind(endpoint, error);
  check();
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  check();
}

void HttpServer::Impl::accept() {
  acceptor.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
    if (!self->acceptor.is_open()) return;
    if (error) {
      // No descriptor is free: those that are open will be closed.
      self->metrics.error("accept");
      self->drain.expires_after(std::chrono::milliseconds(100));
      self->drain.async_wait([self](error_code) {
        if (!self->stopping) self->accept();
      });
      return;
    }
    const bool full = self->open.size() >= self->options.connections;
    const auto connection = std::make_shared<Connection>(std::move(socket), self);
    if (full) {
      self->metrics.error("too_many_connections");
      connection->refuse();
    } else {
      connection->read_head();
    }
    self->accept();
  });
}

std::vector<std::shared_ptr<HttpServer::Impl::Connection>> HttpServer::Impl::all_open() {
  std::vector<std::shared_ptr<Connection>> connections;
  for (Connection* connection : open) connections.push_back(connection->shared_from_this());
  return connections;
}

void HttpServer::Impl::close_all() {
  for (const auto& connection : all_open()) connection->close();
}

void HttpServer::Impl::begin_stop() {
  if (stopping) return;
  stopping = true;
  acceptor.close();
  for (const auto& connection : all_open()) connection->end_if_idle();
  drain.expires_after(duration(options.drain_seconds));
  drain.async_wait([this](error_code) { io.stop(); });
  if (open.empty()) drain.cancel();
}

HttpServer::HttpServer(const HttpOptions& options, HandleRequest handle, ServerMetrics& metrics)
    : impl_(std::make_shared<Impl>(options, std::move(handle), metrics)) {
  impl_->listen();
}

HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return impl_->acceptor.local_endpoint().port(); }
size_t HttpServer::connections() const { return impl_->count; }

void HttpServer::run() {
  impl_->accept();
  impl_->io.run();
  // What is left after the time for it: its operations end with an error and let go of it.
  impl_->close_all();
  impl_->io.restart();
  impl_->io.poll();
}

void HttpServer::stop() {
  asio::post(impl_->io, [impl = impl_] { impl->begin_stop(); });
}

}  // namespace vig
