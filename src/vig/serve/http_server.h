// HTTP/1.1 on sockets: connections, limits and times. Handlers interpret the requests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "vig/serve/metrics.h"

namespace vig {

struct HttpRequest {
  std::string method;  // "POST"
  std::string path;    // "/v1/classify", without the query
  std::string query;
  std::string host;
  std::string origin;  // of the page that a browser sends it for
  std::string content_type;
  std::string authorization;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  int retry_after = 0;                    // seconds; 0: not said
  std::string policy = {};                // Content-Security-Policy; empty: none
  std::string allow = {};                 // the methods of the route; empty: not said
  std::shared_ptr<const void> held = {};  // dropped when the response is sent, or lost
};

// {"error": {"kind", "message"}}
HttpResponse error_response(int status, const std::string& kind, const std::string& sentence,
                            int retry_after = 0);

struct HttpOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 8080;  // 0: any free one
  // Limits. A client beyond one of them gets its error, or its end.
  size_t header_bytes = 16 << 10;
  uint64_t body_bytes = 64 << 20;       // of one request
  uint64_t all_body_bytes = 512 << 20;  // that have come, of requests that are read, wait or run
  size_t connections = 4096;
  double request_seconds = 30;  // for a client to send a request, and to take its response
  double idle_seconds = 60;     // until the first byte of the next request
  double linger_seconds = 2;    // for a client to notice that its connection ends, at most
  double drain_seconds = 20;    // for what was accepted before the server was stopped
};

// Responds to a request, once, from any thread. Dropped without a call it closes the connection.
using Respond = std::function<void(HttpResponse)>;

// Called by the server's own thread: long work must respond later, from another thread.
struct HttpHandlers {
  // Of a request whose body is not read yet: a response refuses it without reading the body.
  std::function<std::optional<HttpResponse>(const HttpRequest& head)> refuse = {};
  std::function<void(HttpRequest, Respond)> handle;
  // A request that cannot be read has got this status.
  std::function<void(int status)> refused = {};
};

struct HttpState;

// A Respond must not outlive the server.
class HttpServer {
 public:
  // Throws Error where the address cannot be listened on.
  HttpServer(const HttpOptions& options, HttpHandlers handlers, ServerMetrics& metrics);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const { return port_; }
  size_t connections() const;
  // Serves until stop() was called and accepted requests have their response, or a timeout.
  void run();
  // Both from any thread. From now on every response ends its connection, and others are accepted.
  void end_connections();
  void stop();

 private:
  std::shared_ptr<HttpState> state_;
  uint16_t port_ = 0;
};

}  // namespace vig
