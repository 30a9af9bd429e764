#include "vig/serve/http_request.h"

#include <boost/asio/error.hpp>

namespace vig {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

// Where a message ends must be said once and in one way: a proxy in front of this server that reads
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

void begin_request(std::optional<RequestParser>& parser, const HttpOptions& options) {
  parser.emplace();
  parser->header_limit(static_cast<uint32_t>(options.header_bytes));
  parser->body_limit(options.body_bytes);
}

std::optional<HttpRefusal> refusal_of_head(const RequestMessage& head) {
  if (!has_one_length(head)) {
    return HttpRefusal{400, "bad_http", "expected one length, or the coding chunked alone"};
  }
  const size_t hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && head.version() >= 11)) {
    return HttpRefusal{400, "bad_http", "expected one host"};
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
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return HttpRefusal{431, "header_too_large",
                       "the header is larger than this server accepts (a fixed limit)"};
  }
  if (error == http::error::partial_message || error == http::error::end_of_stream) {
    return HttpRefusal{400, "partial_request", "the request ends before its end"};
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
