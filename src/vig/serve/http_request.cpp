#include "vig/serve/http_request.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

namespace vig {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

// The end of a message must be stated exactly once: a proxy in front of this server that reads
// it otherwise would take a part of one client's body for the request of another. Beast accepts
// several equal lengths, and codings before the last.
bool has_one_length(const RequestMessage& head) {
  const auto lengths = head.count(http::field::content_length);
  const auto codings = head.count(http::field::transfer_encoding);
  if (lengths + codings > 1) return false;
  const beast::string_view length = head[http::field::content_length];
  return (lengths == 0 || length.find_first_not_of("0123456789") == beast::string_view::npos) &&
         (codings == 0 || beast::iequals(head[http::field::transfer_encoding], "chunked"));
}

}  // namespace

RequestReader::RequestReader(const HttpOptions& options)
    : head_room_(options.header_bytes), body_room_(options.body_bytes) {
  parser_.header_limit(static_cast<uint32_t>(options.header_bytes));
  parser_.body_limit(options.body_bytes);
}

// The parser sees no byte beyond the room, so that where the limit is does not depend on how the
// network cuts the bytes into pieces.
RequestReader::ErrorCode RequestReader::read(beast::flat_buffer& buffer, uint64_t& room,
                                             ErrorCode no_room) {
  if (buffer.size() == 0) return http::error::need_more;
  const size_t seen = static_cast<size_t>(std::min<uint64_t>(buffer.size(), room));
  if (seen == 0) return no_room;
  ErrorCode error;
  const bool in_head = !parser_.is_header_done();
  const auto* const bytes = static_cast<const char*>(buffer.data().data());
  const size_t used = parser_.put(boost::asio::buffer(bytes, seen), error);
  bool folded = false;  // a folded line, which parsers read differently
  for (size_t i = 0; in_head && i < used; ++i) {
    folded = folded || (line_begins_ && (bytes[i] == ' ' || bytes[i] == '\t'));
    line_begins_ = bytes[i] == '\n';
  }
  buffer.consume(used);
  room -= used;
  if (folded) return http::error::bad_obs_fold;
  if (error != http::error::need_more) return error;
  if (seen - used == room) return no_room;
  return buffer.size() < kReadAhead ? error : http::error::buffer_overflow;
}

RequestReader::ErrorCode RequestReader::read_head(beast::flat_buffer& buffer) {
  parser_.eager(false);
  ErrorCode error;
  while (!error && !parser_.is_header_done()) {
    error = read(buffer, head_room_, http::error::header_limit);
  }
  return error;
}

RequestReader::ErrorCode RequestReader::read_body(beast::flat_buffer& buffer) {
  parser_.eager(true);
  ErrorCode error;
  while (!error && !parser_.is_done()) {
    error = read(buffer, body_room_, http::error::body_limit);
  }
  return error;
}

RequestReader::ErrorCode RequestReader::end_of_stream() const {
  return parser_.got_some() ? http::error::partial_message : http::error::end_of_stream;
}

std::optional<HttpRefusal> refusal_of_head(const RequestMessage& head) {
  if (!has_one_length(head)) {
    return HttpRefusal{400, "bad_http", "expected one length, or the coding chunked alone"};
  }
  // Servers disagree on their bodies.
  if (head.version() < 11 && head.count(http::field::transfer_encoding) > 0) {
    return HttpRefusal{400, "bad_http", "expected no transfer coding in a request of HTTP/1.0"};
  }
  const size_t hosts = head.count(http::field::host);
  const bool one_host =
      hosts == 1 ? !read_fields(head).host.empty() : hosts == 0 && head.version() < 11;
  if (!one_host) return HttpRefusal{400, "bad_http", "expected one host"};
  if (head.count(http::field::origin) > 1 || head.count(http::field::authorization) > 1 ||
      head.count(http::field::content_type) > 1) {
    return HttpRefusal{400, "bad_http",
                       "expected at most one Origin, Authorization and Content-Type"};
  }
  return std::nullopt;
}

std::optional<HttpRefusal> refusal_of_error(const beast::error_code& error) {
  if (error == boost::asio::error::operation_aborted ||
      error == boost::asio::error::connection_reset) {
    return std::nullopt;
  }
  if (error == http::error::body_limit) {
    return HttpRefusal{
        413, "too_large",
        "the body is larger than this server accepts (raise the limit with --max-body)"};
  }
  if (error == http::error::header_limit) {
    return HttpRefusal{431, "header_too_large",
                       "the header is larger than this server accepts (a fixed limit)"};
  }
  if (error == http::error::buffer_overflow) {
    return HttpRefusal{431, "header_too_large",
                       "the header of a chunk is larger than this server accepts (a fixed limit)"};
  }
  if (error == http::error::partial_message || error == http::error::end_of_stream) {
    return HttpRefusal{400, "partial_request", "the request is cut short"};
  }
  if (error == http::error::bad_obs_fold) {
    return HttpRefusal{400, "bad_http", "a folded line in the header, expected one line per field"};
  }
  return HttpRefusal{400, "bad_http", "the request is not HTTP/1.1 as this server reads it"};
}

HttpRequest read_fields(const RequestMessage& message) {
  HttpRequest request;
  const bool head = message.method() == http::verb::head;
  request.method = head ? "GET" : text_of(message.method_string());
  request.host = text_of(message[http::field::host]);
  std::string target = text_of(message.target());
  // As it is sent to proxies: the whole address.
  if (constexpr std::string_view kScheme = "http://"; target.starts_with(kScheme)) {
    const size_t slash = std::min(target.find('/', kScheme.size()), target.size());
    request.host = target.substr(kScheme.size(), slash - kScheme.size());
    target = slash == target.size() ? "/" : target.substr(slash);
  }
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.origin = text_of(message[http::field::origin]);
  request.content_type = text_of(message[http::field::content_type]);
  request.authorization = text_of(message[http::field::authorization]);
  return request;
}

}  // namespace vig
