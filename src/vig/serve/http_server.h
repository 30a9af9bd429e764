// HTTP/1.1 on sockets: connections, limits and times. What a request means is the handler's matter.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "vig/serve/metrics.h"

namespace vig {

struct HttpRequest {
  std::string method;  // "POST"
  std::string path;    // "/v1/classify", without the query
  std::string query;
  std::string content_type;
  std::string authorization;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  int retry_after = 0;  // seconds; 0: not said
};

struct HttpOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 8080;  // 0: any free one
  // Limits. A client beyond one of them gets its error, or its end.
  size_t header_bytes = 16 << 10;
  uint64_t body_bytes = 64 << 20;
  size_t connections = 4096;
  double request_seconds = 30;  // for a client to send a request's body, or to take its answer
  double idle_seconds = 60;     // for a client to send the head of its next request
  double drain_seconds = 20;    // for what was accepted before the server was stopped
};

// Answers a request, once, from any thread.
using Respond = std::function<void(HttpResponse)>;
// Called by the server's own thread: what takes long answers later.
using HandleRequest = std::function<void(HttpRequest, Respond)>;

class HttpServer {
 public:
  // Throws Error where the address cannot be listened on.
  HttpServer(const HttpOptions& options, HandleRequest handle, ServerMetrics& metrics);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  size_t connections() const;
  // Serves until stop() was called and what was accepted is answered, or the time for that is over.
  void run();
  // From any thread.
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace vig
