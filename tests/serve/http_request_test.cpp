// Limits and refusals of HTTP requests, byte for byte: the same however the bytes are cut.
#include "vig/serve/http_request.h"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <functional>

#include "serve/served.h"

namespace vig::test {
namespace {

namespace http = boost::beast::http;

HttpOptions small_limits() {
  HttpOptions options = patient();
  options.header_bytes = 300;
  options.body_bytes = 100;
  return options;
}

// The status of a request whose bytes come in pieces of this size: 200 where it can be read.
int status_of(std::string_view bytes, size_t piece, const HttpOptions& options = small_limits()) {
  RequestReader reader(options);
  boost::beast::flat_buffer buffer(kReadAhead);
  const auto read = [&](const std::function<RequestReader::ErrorCode()>& some) {
    for (;;) {
      const RequestReader::ErrorCode error = some();
      if (error != http::error::need_more) return error;
      if (bytes.empty()) return reader.end_of_stream();
      const std::string_view next = bytes.substr(0, std::min(piece, kReadAhead - buffer.size()));
      bytes.remove_prefix(next.size());
      buffer.commit(boost::asio::buffer_copy(buffer.prepare(next.size()),
                                             boost::asio::buffer(next.data(), next.size())));
    }
  };
  if (const auto error = read([&] { return reader.read_head(buffer); })) {
    return refusal_of_error(error)->status;
  }
  if (const auto refusal = refusal_of_head(reader.message())) return refusal->status;
  if (const auto error = read([&] { return reader.read_body(buffer); })) {
    return refusal_of_error(error)->status;
  }
  return 200;
}

// All at once, byte by byte, in pieces of a few bytes, and with a pause after each line.
void expect_status(const std::string& request, int status,
                   const HttpOptions& options = small_limits()) {
  for (const size_t piece : {request.size(), size_t{1}, size_t{2}, size_t{7}, size_t{64}}) {
    EXPECT_EQ(status_of(request, piece, options), status)
        << "in pieces of " << piece << ": " << request.substr(0, 120);
  }
  Served served(options, echo());
  for (const bool by_byte : {false, true}) {
    Client client(served.port());
    for (size_t i = 0; by_byte && i < request.size(); ++i) {
      if (!client.send(std::string_view(request).substr(i, 1))) break;  // refused already
    }
    if (!by_byte) client.send(request);
    client.half_close();
    EXPECT_EQ(client.read().status, status) << by_byte << ": " << request.substr(0, 120);
    EXPECT_TRUE(client.ends());
  }
}

// A request of so many bytes of header, in lines of a few bytes each.
std::string tiny_lines(size_t bytes) {
  std::string request = "GET / HTTP/1.1\r\nHost: x\r\n";
  while (request.size() + 2 + 5 + 5 <= bytes) request += "a:b\r\n";
  const size_t last = bytes - request.size() - 2;  // 5 to 9
  return request + "a:" + std::string(last - 4, 'b') + "\r\n\r\n";
}

TEST(HttpRequest, TheLimitOfTheHeaderIsExact) {
  for (const size_t bytes : {299, 300}) {
    ASSERT_EQ(tiny_lines(bytes).size(), bytes);
    expect_status(tiny_lines(bytes), 200);
  }
  for (const size_t bytes : {301, 302, 50000}) expect_status(tiny_lines(bytes), 431);
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n";
  const auto padded = [&](size_t bytes) {
    return get + "A: " + std::string(bytes - get.size() - 7, 'a') + "\r\n\r\n";
  };
  expect_status(padded(300), 200);
  expect_status(padded(301), 431);
}

// What follows the header is not counted in it.
TEST(HttpRequest, TheBodyIsNoPartOfTheHeader) {
  std::string request = tiny_lines(280);
  request.insert(request.size() - 2, "Content-Length: 99\r\n");
  ASSERT_EQ(request.size(), 300u);
  expect_status(request + std::string(99, 'x'), 200);
}

const std::string kChunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(HttpRequest, EveryByteOfAChunkedBodyCounts) {
  // 90 bytes of content; the rest is 4 + 2 + 5.
  const std::string content = "5a\r\n" + std::string(90, 'x') + "\r\n", end = "0\r\n\r\n";
  ASSERT_EQ(content.size() + end.size(), 101u);
  expect_status(kChunked + content + end, 413);
  const auto extended = [](size_t bytes) {  // of the extension
    return kChunked + "1;" + std::string(bytes - 1, 'e') + "\r\nx\r\n0\r\n\r\n";
  };
  expect_status(extended(89), 200);
  expect_status(extended(90), 413);
  // Many chunks of a byte, each with an extension.
  std::string many = kChunked;
  for (int i = 0; i < 12; ++i) many += "1;a=b\r\nx\r\n";
  expect_status(many + end, 413);
  // Fields behind the last chunk.
  expect_status(kChunked + "0\r\nA: " + std::string(91, 'a') + "\r\n\r\n", 413);
  expect_status(kChunked + "0\r\nA: " + std::string(90, 'a') + "\r\n\r\n", 200);
}

TEST(HttpRequest, TheLineOfAChunkIsBounded) {
  HttpOptions options = small_limits();
  options.body_bytes = 10 << 20;
  const auto extended = [](size_t bytes) {
    return kChunked + "1;" + std::string(bytes, 'e') + "\r\nx\r\n0\r\n\r\n";
  };
  for (const size_t piece : {size_t{1000}, size_t{1} << 30}) {
    EXPECT_EQ(status_of(extended(60000), piece, options), 200);
    EXPECT_EQ(status_of(extended(70000), piece, options), 431);
  }
}

TEST(HttpRequest, ChunksNeedHttp11) {
  expect_status("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  expect_status("POST / HTTP/1.0\r\nTransfer-Encoding: identity\r\n\r\n", 400);
  expect_status("POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", 200);
}

TEST(HttpRequest, LinesOfTheHeaderAreNotFolded) {
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n", end = "\r\n0\r\n\r\n";
  expect_status(post + "Transfer-Encoding:\r\n chunked\r\n" + end, 400);
  expect_status(post + "Transfer-Encoding: chunked\r\n\t\r\n" + end, 400);
  expect_status(post + "Transfer-Encoding: chunked\r\n , identity\r\n" + end, 400);
  expect_status("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400);
  expect_status("GET / HTTP/1.1\r\nHost: x\r\n A: b\r\n\r\n", 400);
  expect_status("GET / HTTP/1.1\r\nHost: x\r\nA:\t b \t\r\n\r\n", 200);
}

TEST(HttpRequest, FieldsThatDecideAreGivenOnce) {
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (const std::string field : {"Origin", "Authorization", "Content-Type"}) {
    expect_status(get + field + ": a\r\n\r\n", 200);
    expect_status(get + field + ": a\r\n" + field + ": a\r\n\r\n", 400);
    expect_status(get + field + ": a\r\nB: b\r\n" + field + ": c\r\n\r\n", 400);
  }
}

TEST(HttpRequest, TheHostIsNamed) {
  expect_status("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400);
  expect_status("GET / HTTP/1.1\r\nHost: \t \r\n\r\n", 400);
  expect_status("GET / HTTP/1.0\r\nHost:\r\n\r\n", 400);
  expect_status("GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n", 400);
  expect_status("GET / HTTP/1.0\r\n\r\n", 200);
}

// Fields behind the body do not change what the head said.
TEST(HttpRequest, FieldsBehindTheBodyAreIgnored) {
  HttpHandlers handlers;
  handlers.handle = [](const HttpRequest& request, const Respond& respond) {
    respond({200, "text/plain",
             request.content_type + "|" + request.authorization + "|" + request.origin + "|" +
                 request.body});
  };
  Served served(patient(), handlers);
  EXPECT_EQ(ask(served.port(), kChunked + "1\r\nx\r\n0\r\nContent-Type: image/png\r\nOrigin: a\r\n"
                                          "Authorization: Bearer b\r\n\r\n")
                .body,
            "|||x");
}

}  // namespace
}  // namespace vig::test
