#include "vig/serve/http_connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace vig {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

std::chrono::milliseconds duration(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

}  // namespace

// The promise of a response. It may be dropped by any thread; the connection ends in the server's.
struct HttpConnection::Pending {
  explicit Pending(std::shared_ptr<HttpConnection> waiting) : connection(std::move(waiting)) {}
  ~Pending() {
    if (connection == nullptr) return;
    const auto executor = connection->stream_.get_executor();
    asio::post(executor, [dropped = std::move(connection)] { dropped->close(); });
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  std::shared_ptr<HttpConnection> connection;
};

HttpConnection::HttpConnection(tcp::socket socket, std::shared_ptr<HttpState> server)
    : stream_(std::move(socket)), server_(std::move(server)) {
  server_->enter(this);
}

HttpConnection::~HttpConnection() {
  release_body();
  server_->leave(this);
}

void HttpConnection::close() {
  ErrorCode ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.close();
}

void HttpConnection::end_if_idle() {
  if (!busy_) close();
}

void HttpConnection::refuse_connection() {
  refuse_request({503, "too_many_connections",
                  "too many connections are open (raise the limit with --max-connections)"},
                 1);
}

void HttpConnection::read_request() {
  busy_ = false;
  if (server_->stopping) return close();
  if (buffer_.size() > 0) return read_head();  // the client did not wait for its response
  buffer_.shrink_to_fit();
  stream_.expires_after(duration(server_->options.idle_seconds));
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = shared_from_this()](ErrorCode error, size_t bytes) {
                            if (error) return self->close();
                            self->buffer_.commit(bytes);
                            self->read_head();
                          });
}

void HttpConnection::read_head() {
  busy_ = true;
  head_only_ = false;
  // From the first byte to the last of the body, however slowly they come.
  stream_.expires_after(duration(server_->options.request_seconds));
  reader_.emplace(server_->options);
  parse_head();
}

void HttpConnection::read_more(void (HttpConnection::*parse)(ErrorCode end)) {
  constexpr size_t kMost = size_t{1} << 14;  // at a time: thousands of clients may be slow
  stream_.async_read_some(buffer_.prepare(std::min(kMost, kReadAhead - buffer_.size())),
                          [self = shared_from_this(), parse](ErrorCode error, size_t bytes) {
                            self->buffer_.commit(bytes);
                            if (error == asio::error::eof) error = self->reader_->end_of_stream();
                            (self.get()->*parse)(error);
                          });
}

void HttpConnection::parse_head(ErrorCode end) {
  if (end) return refuse_request(end);
  const ErrorCode error = reader_->read_head(buffer_);
  if (error == http::error::need_more) return read_more(&HttpConnection::parse_head);
  if (error) return refuse_request(error);
  head_is_read();
}

void HttpConnection::head_is_read() {
  const auto& head = reader_->message();
  version_ = head.version();
  head_only_ = head.method() == http::verb::head;
  if (const auto refusal = refusal_of_head(head)) return refuse_request(*refusal);
  // Fields that follow the body are not those of the head.
  request_ = read_fields(head);
  keep_alive_ = head.keep_alive();
  if (server_->handlers.refuse) {
    if (auto refusal = server_->handlers.refuse(request_)) {
      return respond(std::move(*refusal), reader_->is_done() && keep_alive_);
    }
  }
  if (beast::iequals(head[http::field::expect], "100-continue")) {
    continue_.emplace(http::status::continue_, head.version());
    http::async_write(stream_, *continue_, [self = shared_from_this()](ErrorCode failed, size_t) {
      if (failed) return self->close();
      self->read_body();
    });
    return;
  }
  read_body();
}

// Received bytes, not announced ones: idle clients use no shared budget.
bool HttpConnection::reserve_body() {
  const uint64_t bytes = reader_->message().body().size();
  const uint64_t more = bytes - std::min(bytes, reserved_);
  if (more > server_->options.all_body_bytes - server_->body_bytes) return false;
  reserved_ += more;
  server_->body_bytes += more;
  return true;
}

void HttpConnection::release_body() {
  server_->body_bytes -= reserved_;
  reserved_ = 0;
}

void HttpConnection::read_body(ErrorCode end) {
  if (end) return refuse_request(end);
  const ErrorCode error = reader_->read_body(buffer_);
  if (error && error != http::error::need_more) return refuse_request(error);
  if (!reserve_body()) {
    return refuse_request(
        {503, "too_many_bytes",
         "the pending requests have too many bytes (raise the limit with --max-bodies)"},
        1);
  }
  if (error) return read_more(&HttpConnection::read_body);
  request_is_read();
}

void HttpConnection::request_is_read() {
  stream_.expires_never();
  request_.body = std::move(reader_->release().body());
  server_->handlers.handle(std::move(request_), make_respond());
}

Respond HttpConnection::make_respond() {
  return [pending = std::make_shared<Pending>(shared_from_this())](HttpResponse response) {
    auto waiting = std::exchange(pending->connection, nullptr);
    if (waiting == nullptr) return;
    const auto executor = waiting->stream_.get_executor();
    asio::post(executor, [self = std::move(waiting), from = std::move(response)]() mutable {
      self->respond(std::move(from), self->keep_alive_);
    });
  };
}

// What a client gets whose request cannot be read.
void HttpConnection::refuse_request(ErrorCode error) {
  if (error == beast::error::timeout) {  // the socket is closed already
    server_->metrics.error("timeout");
    return close();
  }
  const auto refusal = refusal_of_error(error);
  if (!refusal) return close();
  refuse_request(*refusal);
}

void HttpConnection::refuse_request(const HttpRefusal& refusal, int retry_after) {
  server_->metrics.error(refusal.kind);
  if (server_->handlers.refused) server_->handlers.refused(refusal.status);
  busy_ = true;
  respond(error_response(refusal.status, refusal.kind, refusal.sentence, retry_after),
          /*keep=*/false);
}

void HttpConnection::respond(HttpResponse from, bool keep) {
  response_ = {};
  response_.result(static_cast<unsigned>(from.status));
  response_.version(version_);
  response_.set(http::field::server, "vig");
  response_.set(http::field::content_type, from.content_type);
  response_.set("X-Content-Type-Options", "nosniff");
  response_.set(http::field::cache_control, "no-store");
  if (!from.allow.empty()) response_.set(http::field::allow, from.allow);
  if (!from.policy.empty()) response_.set("Content-Security-Policy", from.policy);
  if (from.status == 401) response_.set(http::field::www_authenticate, "Bearer");
  if (from.retry_after > 0) {
    response_.set(http::field::retry_after, std::to_string(from.retry_after));
  }
  response_.keep_alive(keep && !server_->ending && !server_->stopping);
  response_.body() = std::move(from.body);
  held_ = std::move(from.held);
  response_.prepare_payload();
  stream_.expires_after(duration(server_->options.request_seconds));
  const auto done = [self = shared_from_this()](ErrorCode error, size_t) {
    self->on_written(error);
  };
  serializer_.emplace(response_);
  if (head_only_) {
    http::async_write_header(stream_, *serializer_, done);
  } else {
    http::async_write(stream_, *serializer_, done);
  }
}

void HttpConnection::on_written(ErrorCode error) {
  release_body();
  const bool keep = response_.keep_alive();
  serializer_.reset();
  response_ = {};  // an idle connection keeps nothing of it
  held_.reset();
  if (error) return close();
  if (keep) return read_request();
  // What the client still sends is read for a moment: closing with unread bytes would reset the
  // connection and lose the response.
  ErrorCode ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  const HttpOptions& limits = server_->options;
  stream_.expires_after(duration(std::min(limits.linger_seconds, limits.request_seconds)));
  discard();
}

void HttpConnection::discard() {
  stream_.async_read_some(asio::buffer(discarded_),
                          [self = shared_from_this()](ErrorCode error, size_t bytes) {
                            constexpr size_t kMost = size_t{1} << 20;
                            self->discarded_bytes_ += bytes;
                            if (error || self->discarded_bytes_ > kMost) return self->close();
                            self->discard();
                          });
}

}  // namespace vig
