// One client of the HTTP server, and what all clients share.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "vig/serve/http_request.h"
#include "vig/serve/http_server.h"

namespace vig {

class HttpConnection;

// Everything but `count` is used by the thread of `io` alone.
struct HttpState {
  HttpState(const HttpOptions& server_options, HttpHandlers server_handlers,
            ServerMetrics& counters)
      : options(server_options), handlers(std::move(server_handlers)), metrics(counters) {}

  void listen();
  void accept();
  void accepted(boost::asio::ip::tcp::socket socket);
  void begin_stop();
  void enter(HttpConnection* connection);
  void leave(HttpConnection* connection);
  // Closing one changes the set.
  std::vector<std::shared_ptr<HttpConnection>> all_open();

  const HttpOptions options;
  const HttpHandlers handlers;
  ServerMetrics& metrics;
  boost::asio::io_context io{1};
  boost::asio::ip::tcp::acceptor acceptor{io};
  boost::asio::steady_timer pause{io};  // of accepting
  boost::asio::steady_timer drain{io};
  std::unordered_set<HttpConnection*> open;
  std::atomic<size_t> count{0};   // of open
  uint64_t body_bytes = 0;        // of all requests
  std::weak_ptr<HttpState> self;  // of this, for connections
  bool ending = false;            // a response is the last one of its connection
  bool stopping = false;          // nothing is accepted
};

// Requests of a connection are processed one after the other. It lives as long as one of its
// operations, or the Respond of its request.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using ErrorCode = boost::beast::error_code;

  HttpConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<HttpState> server);
  ~HttpConnection();

  void read_request();
  // Responds that there are too many connections.
  void refuse_connection();
  // Ends it unless a request is being read or processed.
  void end_if_idle();
  void close();

 private:
  struct Pending;

  void read_head();
  void parse_head(ErrorCode end = {});
  void head_is_read();
  void read_body(ErrorCode end = {});
  // Calls `parse` when more bytes are there, with an error when none will come.
  void read_more(void (HttpConnection::*parse)(ErrorCode end));
  void request_is_read();
  void refuse_request(ErrorCode error);
  void refuse_request(const HttpRefusal& refusal, int retry_after = 0);
  bool reserve_body();
  void release_body();
  Respond make_respond();
  void respond(HttpResponse response, bool keep);
  void on_written(ErrorCode error);
  void discard();

  boost::beast::tcp_stream stream_;
  const std::shared_ptr<HttpState> server_;
  boost::beast::flat_buffer buffer_{kReadAhead};
  std::optional<RequestReader> reader_;
  HttpRequest request_;  // without its body, which is still read
  std::optional<boost::beast::http::response<boost::beast::http::empty_body>> continue_;
  boost::beast::http::response<boost::beast::http::string_body> response_;
  std::optional<boost::beast::http::response_serializer<boost::beast::http::string_body>>
      serializer_;
  std::shared_ptr<const void> held_;  // of the response
  std::array<char, 4096> discarded_{};
  size_t discarded_bytes_ = 0;
  uint64_t reserved_ = 0;  // of HttpState::body_bytes
  unsigned version_ = 11;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool busy_ = false;  // from the first byte of a request to the end of its response
};

}  // namespace vig
