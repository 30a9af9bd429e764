// What bytes of a client are taken for a request, whatever they come through.
#pragma once

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include "vig/serve/http_server.h"

namespace vig {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using RequestMessage = boost::beast::http::request<boost::beast::http::string_body>;

// Why a request is refused that cannot be read.
struct HttpRefusal {
  int status;
  const char* kind;
  const char* sentence;
};

// Bytes that may be read before they are parsed.
constexpr size_t kReadAhead = size_t{1} << 20;

// A parser for the next request, with the limits of `options`.
void begin_request(std::optional<RequestParser>& parser, const HttpOptions& options);
// Of a head that is read: nothing where its body may be read.
std::optional<HttpRefusal> refusal_of_head(const RequestMessage& head);
// Of an error of the parser or of the end of the stream; nothing where there is nobody to tell.
std::optional<HttpRefusal> refusal_of_error(const boost::beast::error_code& error);
// Everything but the body. HEAD is answered like GET.
HttpRequest read_fields(const RequestMessage& message);

}  // namespace vig
