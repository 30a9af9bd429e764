// One connection: what it says of itself, and what it leaves behind.
#include "vig/serve/http_connection.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <new>

#include "serve/served.h"

namespace vig::test {
namespace {

TEST(HttpConnection, ResponsesAreNotCached) {
  Served served(patient(), echo());
  const HttpReply reply = ask(served.port(), request_text("GET", "/"));
  EXPECT_EQ(reply.header("cache-control"), "no-store");
  EXPECT_EQ(reply.header("server"), "vig");
  EXPECT_EQ(reply.header("retry-after"), "");
  EXPECT_EQ(reply.header("www-authenticate"), "");
}

// It names no host, and its connections end unless it asks for more.
TEST(HttpConnection, Http10IsSpokenToo) {
  Served served(patient(), echo());
  Client once(served.port());
  once.send("GET /old HTTP/1.0\r\n\r\n");
  const HttpReply reply = once.read();
  EXPECT_EQ(reply.body, "GET /old [] ");
  EXPECT_EQ(reply.header("connection"), "") << "HTTP/1.0 closes without a word";
  EXPECT_TRUE(once.ends());
  Client twice(served.port());
  for (int i = 0; i < 2; ++i) {
    twice.send("GET /kept HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const HttpReply kept = twice.read();
    EXPECT_EQ(kept.body, "GET /kept [] ");
    EXPECT_EQ(kept.header("connection"), "keep-alive");
  }
}

TEST(HttpConnection, ARefusedClientThatWantsToGoIsLetGo) {
  HttpHandlers handlers = echo();
  handlers.refuse = [](const HttpRequest&) -> std::optional<HttpResponse> {
    return error_response(404, "no_such_route", "there is nothing");
  };
  Served served(patient(), handlers);
  Client client(served.port());
  client.send(request_text("GET", "/", "", "Connection: close\r\n"));
  const HttpReply reply = client.read();
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_TRUE(client.ends());
}

// The documented limits: 16 KiB of header, and bodies up to their limit.
TEST(HttpConnection, LimitsAreReachedButNotPassed) {
  HttpOptions options = patient();
  options.body_bytes = 1000;
  Served served(options, echo());
  const auto status = [&](size_t header, size_t body) {
    return ask(served.port(), request_text("POST", "/", std::string(body, 'x'),
                                           "A: " + std::string(header, 'a') + "\r\n"))
        .status;
  };
  EXPECT_EQ(status(16200, 1000), 200);
  EXPECT_EQ(status(16400, 1000), 431);
  EXPECT_EQ(status(16200, 1001), 413);
}

// The bytes of requests that get no reply are counted no longer than their connections live.
TEST(HttpConnection, RequestsWithoutAResponseTakeNothingFromOthers) {
  HttpOptions options = patient();
  options.all_body_bytes = 100;
  HttpHandlers handlers = echo();
  handlers.handle = [usual = handlers.handle](HttpRequest request, const Respond& respond) {
    if (request.path != "/dropped") usual(std::move(request), respond);
  };
  Served served(options, handlers);
  const auto wait_for_end = [&] {
    while (served.server().connections() > 0) std::this_thread::yield();
  };
  for (int i = 0; i < 3; ++i) {
    Client client(served.port());
    client.send(request_text("POST", "/dropped", std::string(90, 'x')));
    EXPECT_TRUE(client.ends());
    wait_for_end();
    auto gone = std::make_unique<Client>(served.port());
    gone->send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 95\r\n\r\n");
    EXPECT_EQ(gone->read().status, 100);
    gone->send(std::string(90, 'x'));
    // Another request is refused from the moment on when those bytes have come.
    while (ask(served.port(), request_text("POST", "/", std::string(20, 'y'))).status != 503) {
      std::this_thread::yield();
    }
    gone.reset();
    wait_for_end();
  }
  EXPECT_EQ(ask(served.port(), request_text("POST", "/", std::string(100, 'z'))).status, 200);
}

// What a response holds is given back when it is sent, and when its client is gone.
TEST(HttpConnection, WhatAResponseHoldsIsGivenBackWhenItIsSent) {
  constexpr size_t kBytes = size_t{64} << 20;  // more than the system takes at once
  std::promise<std::weak_ptr<int>> promised;
  const auto serve = [&](const HttpRequest&, const Respond& respond) {
    const auto held = std::make_shared<int>();
    promised.set_value(held);
    HttpResponse response{200, "text/plain", std::string(kBytes, 'x')};
    response.held = held;
    respond(std::move(response));
  };
  HttpHandlers handlers;
  handlers.handle = serve;
  Served served(patient(), handlers);
  for (const bool taken : {true, false}) {
    promised = {};
    auto client = std::make_unique<Client>(served.port());
    client->send(request_text("GET", "/"));
    const std::weak_ptr<int> held = promised.get_future().get();
    EXPECT_FALSE(held.expired());
    if (taken) {
      EXPECT_EQ(client->read().body.size(), kBytes);
    } else {
      client.reset();
    }
    while (!held.expired()) std::this_thread::yield();  // or the test's time limit
  }
}

TEST(HttpConnection, OnlyTheFirstResponseCounts) {
  HttpHandlers handlers;
  handlers.handle = [](const HttpRequest& request, const Respond& respond) {
    respond({200, "text/plain", request.path});
    respond({500, "text/plain", "too late"});
  };
  Served served(patient(), handlers);
  Client client(served.port());
  for (const char* path : {"/1", "/2", "/3"}) {
    client.send(request_text("GET", path));
    const HttpReply reply = client.read();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, path);
  }
}

// As for want of memory: the client loses its connection, the others do not notice.
TEST(HttpServer, OutlivesARequestThatThrows) {
  HttpHandlers handlers = echo();
  handlers.handle = [usual = handlers.handle](HttpRequest request, const Respond& respond) {
    if (request.path == "/throw") throw std::bad_alloc();
    usual(std::move(request), respond);
  };
  Served served(patient(), handlers);
  Client other(served.port());
  for (int i = 1; i <= 3; ++i) {
    Client client(served.port());
    client.send(request_text("GET", "/throw"));
    EXPECT_TRUE(client.ends());
    other.send(request_text("GET", "/other"));
    EXPECT_EQ(other.read().body, "GET /other [] ");
    EXPECT_EQ(served.errors("no_memory"), i);
  }
}

// A second Ctrl-C does not take back the time for what was accepted.
TEST(HttpServer, StoppingTwiceIsStopping) {
  HttpOptions options = patient();
  options.linger_seconds = 0.01;
  std::promise<Respond> held;
  HttpHandlers handlers;
  handlers.handle = [&](const HttpRequest&, Respond respond) {
    held.set_value(std::move(respond));
  };
  Served served(options, handlers);
  Client client(served.port());
  client.send(request_text("POST", "/", "x"));
  const Respond respond = held.get_future().get();
  served.server().stop();
  served.server().stop();
  EXPECT_ANY_THROW({
    for (;;) Client late(served.port());  // until the port is closed
  });
  respond({200, "text/plain", "done"});
  EXPECT_EQ(client.read().body, "done");
  served.wait();
}

// A client for whom no descriptor is free waits until one is.
TEST(HttpServer, OutlivesALackOfDescriptors) {
  Served served(patient(), echo());
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int next = dup(STDERR_FILENO);  // all numbers below are taken
  ASSERT_GE(next, 0);
  close(next);
  rlimit tight = usual;
  tight.rlim_cur = static_cast<rlim_t>(next) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  Client client(served.port());  // has the last one
  while (served.errors("accept") == 0) std::this_thread::yield();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  client.send(request_text("GET", "/late"));
  EXPECT_EQ(client.read().body, "GET /late [] ");
}

}  // namespace
}  // namespace vig::test
