#include "vig/serve/http_server.h"

#include <boost/asio/post.hpp>

#include "vig/base/error.h"
#include "vig/pipeline/json_text.h"
#include "vig/serve/http_connection.h"

namespace vig {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::beast::error_code;

// Connections beyond the limit that get a response saying so; further ones are closed.
constexpr size_t kRefusedConnections = 64;

}  // namespace

HttpResponse error_response(int status, const std::string& kind, const std::string& sentence,
                            int retry_after) {
  HttpResponse response;
  response.status = status;
  response.body = json_text({{"error", {{"kind", kind}, {"message", sentence}}}}) + "\n";
  response.retry_after = retry_after;
  return response;
}

void HttpState::enter(HttpConnection* connection) {
  open.insert(connection);
  count = open.size();
}

void HttpState::leave(HttpConnection* connection) {
  open.erase(connection);
  count = open.size();
  if (stopping && open.empty()) drain.cancel();
}

void HttpState::listen() {
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) {
    fail_usage("--listen {}: expected an address such as 127.0.0.1 or ::1", options.address);
  }
  const tcp::endpoint endpoint(address, options.port);
  const auto check = [&] {
    if (!error) return;
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

void HttpState::accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (stopping) return;
    if (!error) {
      try {
        accepted(std::move(socket));
      } catch (const std::exception&) {  // no memory: this client is lost, others come
        metrics.error("accept");
      }
      return accept();
    }
    // No descriptor is free: those that are open will be closed.
    metrics.error("accept");
    pause.expires_after(std::chrono::milliseconds(100));
    pause.async_wait([this](error_code) {
      if (!stopping) accept();
    });
  });
}

void HttpState::accepted(tcp::socket socket) {
  const size_t others = open.size();
  if (others >= options.connections + kRefusedConnections) {
    metrics.error("too_many_connections");
    return;  // closes it
  }
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  // Connections share this object with the HttpServer.
  const auto connection = std::make_shared<HttpConnection>(std::move(socket), self.lock());
  if (others >= options.connections) {
    connection->refuse_connection();
  } else {
    connection->read_request();
  }
}

std::vector<std::shared_ptr<HttpConnection>> HttpState::all_open() {
  std::vector<std::shared_ptr<HttpConnection>> connections;
  for (HttpConnection* connection : open) connections.push_back(connection->shared_from_this());
  return connections;
}

void HttpState::begin_stop() {
  if (stopping) return;
  stopping = true;
  error_code ignored;
  acceptor.close(ignored);
  pause.cancel();
  drain.expires_after(
      std::chrono::milliseconds(static_cast<int64_t>(options.drain_seconds * 1000)));
  drain.async_wait([this](error_code) { io.stop(); });
  for (const auto& connection : all_open()) connection->end_if_idle();
  if (open.empty()) drain.cancel();
}

HttpServer::HttpServer(const HttpOptions& options, HttpHandlers handlers, ServerMetrics& metrics)
    : state_(std::make_shared<HttpState>(options, std::move(handlers), metrics)) {
  state_->self = state_;
  state_->listen();
  port_ = state_->acceptor.local_endpoint().port();
}

HttpServer::~HttpServer() {
  // What was posted after run() ended: it holds connections, which hold the state.
  state_->io.restart();
  state_->io.poll();
}

size_t HttpServer::connections() const { return state_->count; }

void HttpServer::run() {
  state_->accept();
  while (!state_->io.stopped()) {
    try {
      state_->io.run();
    } catch (const std::exception&) {  // no memory: the connection is gone, others go on
      state_->metrics.error("no_memory");
    }
  }
  // What is left after the time for it ends here.
  for (const auto& connection : state_->all_open()) connection->close();
  state_->io.restart();
  state_->io.poll();
}

void HttpServer::end_connections() {
  asio::post(state_->io, [state = state_.get()] { state->ending = true; });
}

void HttpServer::stop() {
  asio::post(state_->io, [state = state_.get()] { state->begin_stop(); });
}

}  // namespace vig
