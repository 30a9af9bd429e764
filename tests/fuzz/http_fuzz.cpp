#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "vig/base/error.h"
#include "vig/serve/http_request.h"

namespace vig::fuzz {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

HttpOptions small_limits() {
  HttpOptions options;
  options.header_bytes = 600;
  options.body_bytes = 1000;
  return options;
}

// What a server makes of all that a client sends: its requests, and why the rest is none.
struct Conversation {
  std::vector<std::string> requests;
  std::string refusal;
  // The reason may differ: of several errors the parser finds the one whose bytes came first.
  bool operator==(const Conversation& other) const {
    return requests == other.requests && refusal.empty() == other.refusal.empty();
  }
};

// A connection's bytes, of which `piece` come at a time.
class Incoming {
 public:
  Incoming(std::string_view bytes, size_t piece) : rest_(bytes), piece_(piece) {}

  bool is_over() const { return rest_.empty() && buffer_.size() == 0; }
  // Reads the head or the body, piece by piece. False with an error.
  template <class Read>
  bool read(RequestReader& reader, const Read& some, error_code& error) {
    for (;;) {
      error = some(buffer_);
      if (error != http::error::need_more) return !error;
      if (rest_.empty()) {
        error = reader.end_of_stream();
        return false;
      }
      const std::string_view next = rest_.substr(0, std::min(piece_, kReadAhead - buffer_.size()));
      rest_.remove_prefix(next.size());
      buffer_.commit(boost::asio::buffer_copy(buffer_.prepare(next.size()),
                                              boost::asio::buffer(next.data(), next.size())));
    }
  }

 private:
  std::string_view rest_;
  const size_t piece_;
  boost::beast::flat_buffer buffer_{kReadAhead};
};

Conversation converse(std::string_view bytes, size_t piece) {
  const HttpOptions options = small_limits();
  Conversation all;
  Incoming incoming(bytes, piece);
  while (!incoming.is_over()) {
    RequestReader reader(options);
    error_code error;
    const auto refused = [&](const std::optional<HttpRefusal>& refusal) {
      check(refusal.has_value(), "an error without a refusal");
      check(refusal->status >= 400 && refusal->status < 500, "the client's error is the server's");
      all.refusal = refusal->sentence;
      return all;
    };
    const auto head = [&](auto& buffer) { return reader.read_head(buffer); };
    if (!incoming.read(reader, head, error)) return refused(refusal_of_error(error));
    if (const auto refusal = refusal_of_head(reader.message())) return refused(refusal);
    const HttpRequest request = read_fields(reader.message());
    const size_t fields = request.path.size() + request.query.size() + request.host.size() +
                          request.content_type.size() + request.authorization.size();
    check(fields <= options.header_bytes, "a header beyond its limit");
    check(reader.message().count(http::field::content_length) +
                  reader.message().count(http::field::transfer_encoding) <=
              1,
          "two lengths");
    const auto body = [&](auto& buffer) { return reader.read_body(buffer); };
    if (!incoming.read(reader, body, error)) return refused(refusal_of_error(error));
    const RequestMessage message = reader.release();
    check(message.body().size() <= options.body_bytes, "a body beyond its limit");
    all.requests.push_back(request.method + " " + request.path + "?" + request.query + " " +
                           request.host + "\n" + message.body());
    if (!message.keep_alive()) break;
  }
  return all;
}

}  // namespace

// All that one client sends. How the network cuts it into pieces changes nothing.
void run_http(Bytes bytes) {
  const std::string_view text = as_text(bytes);
  const Conversation whole = converse(text, std::max<size_t>(text.size(), 1));
  for (const size_t piece : {1, 7}) {
    check(converse(text, piece) == whole, "pieces of the same bytes are read differently");
  }
  if (!whole.refusal.empty()) fail("{}", whole.refusal);
}

}  // namespace vig::fuzz
