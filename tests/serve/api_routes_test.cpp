// What the routes count, whom they let in, and how much may wait for them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <semaphore>

#include "serve/api_fixture.h"
#include "vig/serve/openapi.h"

namespace vig::test {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

TEST_F(ApiTest, TheListSaysWhatModelsAre) {
  ApiOptions options;
  options.max_size = 99;
  start(options);
  const json models = json::parse(ask("GET", "/v1/models").body)["models"];
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0]["task"], "classify");
  EXPECT_EQ(models[0]["arch"], "test_vig");
  EXPECT_EQ(models[0]["class_count"], 10);
  EXPECT_EQ(models[2]["class_count"], 3);
  const Recipe& recipe = classifier()->source().spec.recipe;
  ASSERT_LT(recipe.crop, recipe.resize);
  EXPECT_EQ(models[0]["size"], recipe.crop);
  EXPECT_NEAR(models[0]["seen"].get<double>(), double(recipe.crop) / recipe.resize, 1e-6);
  EXPECT_EQ(json::parse(ask("GET", "/openapi.json").body), json::parse(openapi_text(99)));
  const HttpReply wrong = post("/v1/classify?model=streets");
  EXPECT_NE(wrong.body.find("model streets is for segment, not for classify"), std::string::npos)
      << wrong.body;
}

TEST_F(ApiTest, CountersAreTheirOwn) {
  ApiOptions options;
  options.connections = [] { return size_t{7}; };
  start(options);
  EXPECT_EQ(post("/v1/classify?top=0").status, 400);
  EXPECT_EQ(post("/v1/classify?model=none").status, 404);
  EXPECT_EQ(ask("GET", "/nowhere").status, 404);
  const HttpReply put = ask("POST", "/health", "x");
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.header("allow"), "GET, HEAD");
  Client client(served_->port());
  client.send(request_text("HEAD", "/health"));
  EXPECT_EQ(client.read(/*head=*/true).status, 200) << "HEAD is replied like GET";
  client.send("nonsense\r\n\r\n");
  EXPECT_EQ(client.read().status, 400);

  const HttpReply counted = ask("GET", "/metrics");
  EXPECT_EQ(counted.header("content-type"), "text/plain; version=0.0.4");
  for (const char* line :
       {"vig_requests_total{route=\"/v1/classify\",status=\"400\"} 1",
        "vig_requests_total{route=\"/v1/classify\",status=\"404\"} 1",
        "vig_requests_total{route=\"other\",status=\"404\"} 1",
        "vig_requests_total{route=\"/health\",status=\"405\"} 1",
        "vig_requests_total{route=\"/health\",status=\"200\"} 1",
        "vig_requests_total{route=\"other\",status=\"400\"} 1",  // no request at all
        "vig_errors_total{kind=\"bad_request\"} 1", "vig_errors_total{kind=\"no_such_model\"} 1",
        "vig_errors_total{kind=\"no_such_route\"} 1", "vig_errors_total{kind=\"wrong_method\"} 1",
        "vig_errors_total{kind=\"bad_http\"} 1", "vig_connections 7", "vig_queue_images 0"}) {
    EXPECT_NE(counted.body.find("\n" + std::string(line) + "\n"), std::string::npos)
        << line << "\n"
        << counted.body;
  }
  const std::string memory = "\nvig_memory_bytes ";
  const size_t at = counted.body.find(memory);
  ASSERT_NE(at, std::string::npos);
  EXPECT_GT(std::stoull(counted.body.substr(at + memory.size())), uint64_t{1} << 20);
}

// The time of a reply is in seconds, and no longer than the client waited.
TEST_F(ApiTest, TimesAreThoseOfTheRequest) {
  std::atomic<double> logged = -1;
  ApiOptions options;
  options.log = [&](const std::string&, int, double seconds) { logged = seconds; };
  start(options);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(post("/v1/classify").status, 200);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(logged, 0);
  EXPECT_LE(logged, waited.count());
}

TEST_F(ApiTest, SomeRoutesNeedNoToken) {
  ApiOptions options;
  options.token = "secret";
  start(options);
  for (const char* open : {"/", "/health", "/ready"}) EXPECT_EQ(ask("GET", open).status, 200);
  for (const char* closed : {"/openapi.json", "/v1/models", "/metrics"}) {
    EXPECT_EQ(ask("GET", closed).status, 401) << closed;
    // The word before the token is one of HTTP's, in which capital letters do not matter.
    for (const char* word : {"Bearer", "bearer", "BEARER"}) {
      const std::string header = "Authorization: " + std::string(word) + " secret\r\n";
      EXPECT_EQ(ask("GET", closed, "", header).status, 200) << closed << " " << header;
    }
  }
  EXPECT_EQ(test::ask(served_->port(), request_text("GET", "/nowhere")).status, 401)
      << "who may not ask learns no routes";
}

TEST_F(ApiTest, ThisMachineHasSeveralNames) {
  ApiOptions options;
  options.local_hosts = true;
  start(options);
  const auto status = [&](const std::string& request) {
    return test::ask(served_->port(), request).status;
  };
  EXPECT_EQ(status("GET /health HTTP/1.0\r\n\r\n"), 200) << "HTTP/1.0 names no host";
  EXPECT_EQ(status("GET /health HTTP/1.1\r\nHost: [::1]\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /health HTTP/1.1\r\nHost: 127.1.2.3\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /health HTTP/1.1\r\nHost: 127.0.0.1x\r\n\r\n"), 403);
  EXPECT_EQ(status("GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200) << "the page";
  EXPECT_EQ(served_->errors("wrong_host"), 1);
}

HttpRequest task_request(const std::string& type, const std::string& body) {
  HttpRequest request;
  request.method = "POST";
  request.path = "/v1/classify";
  request.content_type = type;
  request.body = body;
  return request;
}

// Holds the thread of the first reply until `go`, since replies are logged before they are sent.
struct HeldReply {
  std::function<void(const std::string&, int, double)> log() {
    return [this](const std::string&, int, double) {
      if (!hold.exchange(false)) return;
      running.release();
      go.acquire();
    };
  }
  std::atomic<bool> hold = true;
  std::counting_semaphore<10> running{0}, go{0};
};

TEST(Api, OnlySoManyRequestsWaitToBeRead) {
  for (const size_t bytes : {size_t{100}, size_t{2} << 20}) {
    SCOPED_TRACE(bytes);
    HeldReply held;
    ApiOptions options;
    options.log = held.log();
    options.queue.most_waiting = 2;
    ServerMetrics metrics;
    std::vector<int> refused;
    Api api({{"pets", classifier()}}, options, metrics);
    const HttpRequest request = task_request("application/json", std::string(bytes, 'x'));
    api.handle(request, [](const HttpResponse&) {});
    held.running.acquire();
    for (int i = 0; i < 4; ++i) {
      api.handle(request, [&, i](const HttpResponse& response) {
        if (response.status != 503) return;
        EXPECT_EQ(response.retry_after, 1);
        EXPECT_NE(response.body.find("queue_full"), std::string::npos) << response.body;
        refused.push_back(i);
      });
    }
    EXPECT_EQ(refused, (std::vector{2, 3}));
    held.go.release();
  }
}

// Bodies beyond a megabyte have a reader of their own.
TEST(Api, LargeRequestsDoNotKeepOthersWaiting) {
  HeldReply held;
  ApiOptions options;
  options.log = held.log();
  ServerMetrics metrics;
  std::binary_semaphore replied{0};
  Api api({{"pets", classifier()}}, options, metrics);
  api.handle(task_request("application/json", std::string(size_t{2} << 20, 'x')),
             [](const HttpResponse&) {});
  held.running.acquire();
  api.handle(task_request("application/json", "x"),
             [&](const HttpResponse&) { replied.release(); });
  EXPECT_TRUE(replied.try_acquire_for(30s));
  held.go.release();
}

TEST(Api, WhatWaitsForANetworkIsDropped) {
  HeldReply held;
  ApiOptions options;
  options.log = held.log();
  options.queue = {.most_waiting = 10, .batch = 1, .wait = {}, .workers = 1};
  ServerMetrics metrics;
  std::atomic<int> replies = 0;
  {
    Api api({{"pets", classifier()}}, options, metrics);
    const HttpRequest request = task_request("image/jpeg", photo());
    api.handle(request, [&](const HttpResponse&) { ++replies; });
    held.running.acquire();
    api.handle(request, [&](const HttpResponse&) { ++replies; });
    HttpRequest counters;
    counters.method = "GET";
    counters.path = "/metrics";
    for (bool waits = false; !waits;) {
      api.handle(counters, [&](const HttpResponse& response) {
        waits = response.body.find("\nvig_queue_images 1\n") != std::string::npos;
      });
    }
    api.drop_waiting();
    held.go.release();
  }
  EXPECT_EQ(replies, 1);
}

}  // namespace
}  // namespace vig::test
