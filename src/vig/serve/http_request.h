// Which bytes of a client make a request, independent of the transport.
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

// Bytes that may be read before they are parsed: what a chunk's size and extensions, or the fields
// behind the last chunk, may have.
constexpr size_t kReadAhead = size_t{1} << 16;

// Parses the bytes of one request as they come, and counts all of them: Beast limits each line of a
// header and the content of chunks, but neither all lines nor what stands around the content.
class RequestReader {
 public:
  using ErrorCode = boost::beast::error_code;

  explicit RequestReader(const HttpOptions& options);

  // Take from `buffer` what belongs to the head or to the body, at most to its end. need_more:
  // bytes are missing; another error: the request is refused.
  ErrorCode read_head(boost::beast::flat_buffer& buffer);
  ErrorCode read_body(boost::beast::flat_buffer& buffer);
  // The client sends no more, but the request has no end.
  ErrorCode end_of_stream() const;

  // Once the head is read.
  const RequestMessage& message() const { return parser_.get(); }
  bool is_done() const { return parser_.is_done(); }
  RequestMessage release() { return parser_.release(); }

 private:
  ErrorCode read(boost::beast::flat_buffer& buffer, uint64_t& room, ErrorCode no_room);

  RequestParser parser_;
  uint64_t head_room_, body_room_;  // bytes that may still come
  bool line_begins_ = false;        // at the next byte of the head
};

// Of a head that is read: nothing where its body may be read.
std::optional<HttpRefusal> refusal_of_head(const RequestMessage& head);
// Of an error of the parser or of the end of the stream; nothing if the client is gone.
std::optional<HttpRefusal> refusal_of_error(const boost::beast::error_code& error);
// Everything but the body. HEAD is processed like GET.
HttpRequest read_fields(const RequestMessage& message);

}  // namespace vig
