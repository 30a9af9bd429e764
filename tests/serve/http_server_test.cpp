// Clients that are slow, rude or wrong: each gets its error or its end, and the others their
// replies.
#include "vig/serve/http_server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <list>
#include <mutex>
#include <vector>

#include "serve/served.h"
#include "vig/base/error.h"

namespace vig::test {
namespace {

// Requests that wait until the test replies to them.
class Held {
 public:
  HttpHandlers handlers() {
    HttpHandlers handlers;
    handlers.handle = [this](HttpRequest, Respond respond) {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(respond));
      changed_.notify_all();
    };
    return handlers;
  }
  Respond take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    Respond first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Respond> waiting_;
};

void expect_alive(uint16_t port) {
  EXPECT_EQ(ask(port, request_text("GET", "/alive")).body, "GET /alive [] ");
}

TEST(HttpServer, RespondsToRequestsOfOneConnectionInOrder) {
  Served served(patient(), echo());
  Client client(served.port());
  client.send(request_text("POST", "/a?b=1", "body"));
  const HttpReply first = client.read();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "POST /a [b=1] body");
  EXPECT_EQ(first.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(first.header("content-type"), "text/plain");
  // Several at once, without waiting for replies.
  std::string all;
  for (int i = 0; i < 50; ++i) all += request_text("POST", "/" + std::to_string(i), "x");
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.read().body, "POST /" + std::to_string(i) + " [] x");
  }
  client.send(request_text("HEAD", "/h"));
  EXPECT_EQ(client.read(/*head=*/true).status, 200);
  client.send(request_text("GET", "/last", "", "Connection: close\r\n"));
  EXPECT_EQ(client.read().body, "GET /last [] ");
  EXPECT_TRUE(client.ends());
}

TEST(HttpServer, ChunkedBodiesAreConcatenated) {
  Served served(patient(), echo());
  EXPECT_EQ(ask(served.port(), request_text("POST", "/", "", "Transfer-Encoding: chunked\r\n") +
                                   "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
                .body,
            "POST / [] abcde");
}

TEST(HttpServer, ContinuesWhereAskedTo) {
  Served served(patient(), echo());
  Client client(served.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read().status, 100);
  client.send("ab");
  EXPECT_EQ(client.read().body, "POST / [] ab");
}

TEST(HttpServer, WhatIsNotHttpIsRefused) {
  HttpOptions options = patient();
  options.header_bytes = 2000;
  options.body_bytes = 1000;
  Served served(options, echo());
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n",
                    chunked = "Transfer-Encoding: chunked\r\n";
  const std::vector<std::pair<std::string, int>> cases = {
      {"hello\r\n\r\n", 400},
      {std::string("\0\1\2\3\r\n\r\n", 8), 400},
      {"GET / HTTP/9.9\r\n\r\n", 400},
      {"GET /a b HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET http://x/ HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: x\n\n", 400},
      {"GET / HTTP/1.1\r\nHost x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nA: \1\r\n\r\n", 400},
      {"GET /" + std::string(3000, 'a') + " HTTP/1.1\r\n\r\n", 431},
      {"GET / HTTP/1.1\r\nA: " + std::string(3000, 'a') + "\r\n\r\n", 431},
      {post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nab", 400},
      {post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", 400},
      {post + "Content-Length: 2\r\n" + chunked + "\r\n0\r\n\r\n", 400},
      {post + chunked + "Content-Length: 2\r\n\r\n0\r\n\r\n", 400},
      {post + "Content-Length: -1\r\n\r\n", 400},
      {post + "Content-Length: 2, 2\r\n\r\nab", 400},
      {post + "Content-Length: 99999999999999999999999\r\n\r\n", 400},
      {post + "Content-Length: 0x2\r\n\r\nab", 400},
      {post + "Content-Length: 1073741824\r\n\r\n", 413},
      {post + "Content-Length: 1001\r\n\r\n", 413},
      {post + chunked + "\r\nxyz\r\n", 400},
      {post + chunked + "\r\n-1\r\n", 400},
      {post + chunked + "\r\nffffffffffffffffff\r\n", 400},
      {post + chunked + "\r\n3\r\nabcd\r\n0\r\n\r\n", 400},
      {post + chunked + "\r\n401\r\n" + std::string(1025, 'a') + "\r\n0\r\n\r\n", 413},
      {post + "Transfer-Encoding: gzip, chunked, chunked\r\n\r\n0\r\n\r\n", 400},
  };
  for (const auto& [request, status] : cases) {
    Client client(served.port());
    client.send(request);
    client.half_close();
    const HttpReply reply = client.read();
    EXPECT_EQ(reply.status, status) << request.substr(0, 120);
    EXPECT_NE(reply.body.find("\"error\""), std::string::npos) << reply.body;
    const bool names_option = reply.body.find("--max-body") != std::string::npos;
    EXPECT_EQ(names_option, status == 413) << reply.body;
    EXPECT_TRUE(client.ends()) << "a connection whose state is unknown is closed";
  }
  expect_alive(served.port());
  EXPECT_EQ(served.errors("too_large"), 3);
  EXPECT_EQ(served.errors("header_too_large"), 2);
}

TEST(HttpServer, HalfClosedConnectionsGetTheirResponse) {
  Served served(patient(), echo());
  Client whole(served.port());
  whole.send(request_text("POST", "/", "abc"));
  whole.half_close();
  EXPECT_EQ(whole.read().body, "POST / [] abc");
  EXPECT_TRUE(whole.ends());
  // In the middle of the head, and of the body.
  for (const char* request :
       {"GET / HTT", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"}) {
    Client part(served.port());
    part.send(request);
    part.half_close();
    EXPECT_EQ(part.read().status, 400) << request;
    EXPECT_TRUE(part.ends());
  }
  EXPECT_EQ(served.errors("partial_request"), 2);
  Client silent(served.port());
  silent.half_close();
  EXPECT_TRUE(silent.ends());
}

// The socket is closed before the error is counted. Ends by the test's time limit.
void wait_for_timeouts(const Served& served, int count) {
  while (served.errors("timeout") < count) std::this_thread::yield();
  EXPECT_EQ(served.errors("timeout"), count);
}

TEST(HttpServer, SlowClientsAreEnded) {
  HttpOptions options = patient();
  options.request_seconds = 0.05;
  Served served(options, echo());
  Client head(served.port()), body(served.port());
  head.send("GET / HTTP/1.1\r\nHost:");
  body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_TRUE(head.ends());
  EXPECT_TRUE(body.ends());
  wait_for_timeouts(served, 2);
  expect_alive(served.port());
}

TEST(HttpServer, IdleConnectionsAreEnded) {
  HttpOptions options = patient();
  options.idle_seconds = 0.05;
  Served served(options, echo());
  Client silent(served.port());
  EXPECT_TRUE(silent.ends());
  while (served.server().connections() > 0) std::this_thread::yield();
  EXPECT_EQ(served.errors("timeout"), 0) << "who sent nothing did nothing wrong";
}

// However regularly its bytes come, a request has so much time in all.
TEST(HttpServer, ATrickleDoesNotExtendTheTime) {
  HttpOptions options = patient();
  options.request_seconds = 0.2;
  Served served(options, echo());
  int ended = 0;
  for (const auto& [beginning, drop] :
       {std::pair("GET / HTTP/1.1\r\nHost: x\r\n", "A: b\r\n"),
        std::pair("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", "body")}) {
    Client client(served.port());
    client.send(beginning);
    bool open = true;
    for (int i = 0; i < 1200 && open; ++i) {
      open = client.send(drop);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_FALSE(open) << beginning;
    wait_for_timeouts(served, ++ended);
  }
}

TEST(HttpServer, ClientsThatDoNotReadAreClosed) {
  HttpOptions options = patient();
  options.request_seconds = 0.1;
  HttpHandlers handlers;
  handlers.handle = [](const HttpRequest&, const Respond& respond) {
    respond({200, "text/plain", std::string(64 << 20, 'x')});
  };
  Served served(options, handlers);
  Client client(served.port());
  client.send(request_text("GET", "/"));
  while (served.server().connections() > 0) std::this_thread::yield();  // or the test's time limit
}

TEST(HttpServer, WhoWasRefusedAndStaysIsEnded) {
  HttpOptions options = patient();
  options.linger_seconds = 0.05;
  Served served(options, echo());
  Client client(served.port());
  client.send("nonsense\r\n\r\n");
  EXPECT_EQ(client.read().status, 400);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (served.server().connections() > 0 && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  EXPECT_EQ(served.server().connections(), 0u);
}

TEST(HttpServer, ConnectionsAreLimited) {
  HttpOptions options = patient();
  options.connections = 2;
  Served served(options, echo());
  auto first = std::make_unique<Client>(served.port());
  Client second(served.port());
  first->send(request_text("GET", "/1"));
  second.send(request_text("GET", "/2"));
  EXPECT_EQ(first->read().status, 200);
  EXPECT_EQ(second.read().status, 200);
  Client third(served.port());
  const HttpReply refused = third.read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  second.send(request_text("GET", "/still"));
  EXPECT_EQ(second.read().body, "GET /still [] ") << "those that are in stay in";
  // Far too many are closed without a word; the first ones get a response.
  std::list<Client> crowd;
  for (int i = 0; i < 100; ++i) crowd.emplace_back(served.port());
  int replied = 0, closed = 0;
  for (Client& one : crowd) (one.read().status == 503 ? replied : closed)++;
  EXPECT_GT(replied, 0);
  EXPECT_GT(closed, 0);
  crowd.clear();
  first.reset();
  while (served.server().connections() > 1) std::this_thread::yield();
  expect_alive(served.port());
}

// Descriptors for both ends of so many connections.
void allow_connections(rlim_t count) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::max(limit.rlim_cur, 2 * count + 256);
  ASSERT_LE(limit.rlim_cur, limit.rlim_max)
      << "the system allows too few descriptors for this test";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(HttpServer, ManyIdleConnectionsDoNotMatter) {
  constexpr size_t kIdle = 2000;
  allow_connections(kIdle);
  Served served(patient(), echo());
  std::list<Client> idle;
  for (size_t i = 0; i < kIdle; ++i) idle.emplace_back(served.port());
  expect_alive(served.port());
  while (served.server().connections() < kIdle) std::this_thread::yield();
  expect_alive(served.port());
  idle.back().send(request_text("GET", "/late"));
  EXPECT_EQ(idle.back().read().body, "GET /late [] ") << "an idle connection is still one";
}

// A body without a length, which would have a gigabyte: refused at its limit, not at its end.
TEST(HttpServer, AnEndlessBodyEndsAtItsLimit) {
  HttpOptions options = patient();
  options.body_bytes = 1 << 20;
  Served served(options, echo());
  Client client(served.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(65536, 'x') + "\r\n";
  constexpr size_t kChunks = (size_t{1} << 30) / 65536;
  size_t sent = 0;
  while (sent < kChunks && client.send(chunk)) ++sent;
  EXPECT_LT(sent, kChunks / 4) << "the server took far more than the body may have";
  EXPECT_EQ(served.errors("too_large"), 1);
  expect_alive(served.port());
}

// What follows a request that is refused is no request: its start is unknown.
TEST(HttpServer, NothingIsReadBehindARefusedRequest) {
  std::atomic<int> handled = 0;
  HttpHandlers handlers;
  handlers.handle = [&](const HttpRequest&, const Respond& respond) {
    ++handled;
    respond({200, "text/plain", ""});
  };
  Served served(patient(), handlers);
  const std::string smuggled = request_text("GET", "/smuggled");
  for (const std::string& lengths :
       {"Content-Length: 0\r\nContent-Length: " + std::to_string(smuggled.size()) + "\r\n",
        std::string("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
        std::string("Transfer-Encoding: xchunked\r\n"),
        std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n")}) {
    Client client(served.port());
    client.send("POST / HTTP/1.1\r\nHost: x\r\n" + lengths + "\r\n0\r\n\r\n" + smuggled);
    EXPECT_EQ(client.read().status, 400) << lengths;
    EXPECT_TRUE(client.ends()) << lengths;
  }
  EXPECT_EQ(handled, 0);
}

// Every kind of hostile client at once, while a polite one asks its questions.
TEST(HttpServer, HostileClientsDoNotHinderOthers) {
  allow_connections(800);
  HttpOptions options = patient();
  options.body_bytes = 1 << 16;
  Served served(options, echo());
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::vector<std::string> beginnings = {
      "GET / HT",                                         // a slow header
      post + "Content-Length: 100\r\n\r\nabc",            // a slow body
      post + "Content-Length: 1073741824\r\n\r\nabc",     // a gigabyte
      post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",  // nonsense for a chunk
      post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      request_text("GET", "/") + request_text("GET", "/") + "nonsense\r\n\r\n",
      ""};
  std::list<Client> hostile;
  Client polite(served.port());
  for (int i = 0; i < 100; ++i) {
    for (const std::string& beginning : beginnings) {
      hostile.emplace_back(served.port());
      hostile.back().send(beginning);
      if (i % 2 == 1) hostile.back().half_close();
    }
    polite.send(request_text("POST", "/polite", std::to_string(i)));
    ASSERT_EQ(polite.read().body, "POST /polite [] " + std::to_string(i));
  }
}

TEST(HttpServer, BodiesAreLimitedTogether) {
  HttpOptions options = patient();
  options.all_body_bytes = 100;
  std::promise<Respond> held;
  HttpHandlers handlers;
  handlers.handle = [&](HttpRequest request, Respond respond) {
    if (request.path == "/held") return held.set_value(std::move(respond));
    respond({200, "text/plain", ""});
  };
  std::atomic<int> refused_status = 0;
  handlers.refused = [&](int status) { refused_status = status; };
  Served served(options, handlers);
  const auto status = [&](size_t bytes) {
    return ask(served.port(), request_text("POST", "/", std::string(bytes, 'x'))).status;
  };
  // What is announced takes nothing from others, what waits for its reply does.
  Client slow(served.port()), large(served.port());
  slow.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 90\r\n\r\n");
  EXPECT_EQ(slow.read().status, 100);
  large.send(request_text("POST", "/held", std::string(90, 'y')));
  const Respond respond = held.get_future().get();
  const HttpReply refused = ask(served.port(), request_text("POST", "/", std::string(11, 'x')));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(refused_status, 503);
  EXPECT_EQ(status(10), 200);
  respond({200, "text/plain", ""});
  EXPECT_EQ(large.read().status, 200);
  EXPECT_EQ(status(100), 200);
  EXPECT_EQ(status(101), 503);
  // A body without a length counts as it comes.
  EXPECT_EQ(
      ask(served.port(),
          "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
          .status,
      200);
}

// The length of a reply to HEAD is not that of what follows.
TEST(HttpServer, ARefusalAfterHeadHasItsBody) {
  Served served(patient(), echo());
  Client client(served.port());
  client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n");
  EXPECT_EQ(client.read(/*head=*/true).status, 200);
  const HttpReply refused = client.read();
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("bad_http"), std::string::npos) << refused.body;
}

TEST(HttpServer, RefusedHeadsGetTheirResponseBeforeTheirBody) {
  HttpHandlers handlers = echo();
  handlers.refuse = [](const HttpRequest& head) -> std::optional<HttpResponse> {
    if (head.authorization == "Bearer x") return std::nullopt;
    return error_response(401, "unauthorized", "who are you?");
  };
  Served served(patient(), handlers);
  Client client(served.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n");
  const HttpReply reply = client.read();
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.header("www-authenticate"), "Bearer");
  EXPECT_EQ(reply.header("connection"), "close");
  Client other(served.port());
  other.send(request_text("GET", "/"));
  EXPECT_EQ(other.read().status, 401);
  other.send(request_text("GET", "/", "", "Authorization: Bearer x\r\n"));
  EXPECT_EQ(other.read().status, 200) << "without a body the connection stays";
}

TEST(HttpServer, StoppingFinishesWhatWasAccepted) {
  Held held;
  Served served(patient(), held.handlers());
  Client idle(served.port()), busy(served.port());
  busy.send(request_text("POST", "/", "x"));
  const Respond respond = held.take();
  served.server().stop();
  EXPECT_TRUE(idle.ends());
  EXPECT_ANY_THROW({
    for (;;) Client late(served.port());  // until the port is closed
  });
  respond({200, "text/plain", "done"});
  const HttpReply reply = busy.read();
  EXPECT_EQ(reply.body, "done");
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_TRUE(busy.ends());
  served.wait();
}

TEST(HttpServer, StoppingHasALimit) {
  HttpOptions options = patient();
  options.drain_seconds = 0.05;
  Held held;
  Served served(options, held.handlers());
  Client client(served.port());
  client.send(request_text("POST", "/", "x"));
  const Respond respond = held.take();
  served.server().stop();
  EXPECT_TRUE(client.ends());
  served.wait();
  respond({200, "text/plain", "no listener"});
}

TEST(HttpServer, ADroppedRequestEndsItsConnection) {
  Held held;
  Served served(patient(), held.handlers());
  Client client(served.port());
  client.send(request_text("POST", "/", "x"));
  held.take();
  EXPECT_TRUE(client.ends());
}

TEST(HttpServer, AClientThatLeavesIsForgotten) {
  Held held;
  Served served(patient(), held.handlers());
  {
    Client client(served.port());
    client.send(request_text("POST", "/", "x"));
    const Respond respond = held.take();
    EXPECT_EQ(served.server().connections(), 1u);
    respond({200, "text/plain", std::string(1 << 20, 'x')});
  }
  while (served.server().connections() > 0) std::this_thread::yield();
}

TEST(HttpServer, AddressesAreChecked) {
  ServerMetrics metrics;
  HttpOptions options;
  options.address = "localhost.";
  EXPECT_THROW(HttpServer(options, echo(), metrics), Error);
  options.address = "127.0.0.1";
  options.port = 0;
  HttpServer first(options, echo(), metrics);
  options.port = first.port();
  EXPECT_THROW(HttpServer(options, echo(), metrics), Error);
}

}  // namespace
}  // namespace vig::test
