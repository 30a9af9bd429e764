// A server of a test: runs in a thread of its own on a free port, and ends with the scope.
#pragma once

#include <memory>
#include <thread>

#include "serve/client.h"
#include "vig/serve/http_server.h"

namespace vig::test {

// Responds with what was asked.
inline HttpHandlers echo() {
  HttpHandlers handlers;
  handlers.handle = [](HttpRequest request, const Respond& respond) {
    respond({200, "text/plain",
             request.method + " " + request.path + " [" + request.query + "] " + request.body});
  };
  return handlers;
}

// Limits of time that no test reaches.
inline HttpOptions patient() {
  HttpOptions options;
  options.request_seconds = 600;
  options.idle_seconds = 600;
  options.drain_seconds = 600;
  return options;
}

class Served {
 public:
  Served(HttpOptions options, HttpHandlers handlers) {
    options.port = 0;
    server_ = std::make_unique<HttpServer>(options, std::move(handlers), metrics_);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~Served() {
    server_->stop();
    wait();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  uint16_t port() const { return server_->port(); }
  HttpServer& server() { return *server_; }
  ServerMetrics& metrics() { return metrics_; }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  // How often this kind of error was counted.
  int errors(const std::string& kind) const {
    const std::string text = metrics_.text({}), line = "vig_errors_total{kind=\"" + kind + "\"} ";
    const size_t at = text.find(line);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + line.size()));
  }

 private:
  ServerMetrics metrics_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

}  // namespace vig::test
