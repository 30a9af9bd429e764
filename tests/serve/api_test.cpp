// The routes over real sockets, with miniatures of every task. Every reply is checked against
// /openapi.json.
#include "vig/serve/api.h"

#include <gtest/gtest.h>

#include <list>
#include <nlohmann/json.hpp>
#include <semaphore>

#include "pipeline/fixtures.h"
#include "serve/api_fixture.h"
#include "serve/json_schema.h"
#include "support/files.h"
#include "vig/pipeline/results_json.h"
#include "vig/serve/openapi.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/jpeg_uri.h"

namespace vig::test {
namespace {

using nlohmann::json;

TEST_F(ApiTest, ClassifiesInEveryForm) {
  start();
  const std::string bytes = photo();
  const ImageBytes images({{"image", image_bytes(bytes)}});
  const auto expected = classifier()->classify(images, 3);
  const std::string text = classification_json(expected.at(0));
  const HttpReply raw = post("/v1/classify?top=3");
  ASSERT_EQ(raw.status, 200) << raw.body;
  EXPECT_EQ(raw.body, "{\"model\":\"pets\",\"results\":[" + text + "]}\n");

  const json classes = json::parse(text)["classes"];
  const std::string form =
      "--B\r\nContent-Disposition: form-data; name=top\r\n\r\n3\r\n"
      "--B\r\nContent-Disposition: form-data; name=f; filename=\"a/cat.jpg\"\r\n\r\n" +
      bytes + "\r\n--B--";
  json reply = json::parse(
      post("/v1/classify", form, "Content-Type: multipart/form-data; boundary=B\r\n").body);
  EXPECT_EQ(reply["results"][0]["classes"], classes);
  EXPECT_EQ(reply["results"][0]["file"], "cat.jpg");
  const json sent = {
      {"top", 3}, {"images", {"/9j/4AAQ", png_uri(image_bytes(bytes))}}, {"model", "pets"}};
  reply = json::parse(post("/v1/classify", sent.dump(), "Content-Type: application/json\r\n").body);
  EXPECT_TRUE(reply["results"][0].contains("error")) << "one broken image spoils no other";
  EXPECT_EQ(reply["results"][1]["classes"], classes);
}

TEST_F(ApiTest, EmbedsAsTheLibrary) {
  start();
  const std::string bytes = photo();
  const ImageBytes images({{"image", image_bytes(bytes)}});
  for (const bool map : {false, true}) {
    const auto kind = map ? Embedder::Kind::kMap : Embedder::Kind::kPooled;
    const HttpReply reply = post(map ? "/v1/embed?map=true" : "/v1/embed");
    EXPECT_EQ(reply.body, "{\"model\":\"pets\",\"results\":[" +
                              embedding_json(classifier()->embed(images, kind).at(0)) + "]}\n");
  }
  EXPECT_EQ(json::parse(post("/v1/embed?size=96").body)["results"][0]["shape"],
            json::parse(post("/v1/embed").body)["results"][0]["shape"]);
}

TEST_F(ApiTest, ExplainsAndDraws) {
  start();
  json reply = json::parse(post("/v1/explain?class=class+3&against=5").body)["results"][0];
  EXPECT_EQ(reply["class"]["index"], 3);
  EXPECT_EQ(reply["against"]["name"], "class 5");
  EXPECT_FALSE(reply.contains("image"));
  reply = json::parse(post("/v1/explain?x=0.5&y=0.25&layer=0&head=0&draw=1").body)["results"][0];
  EXPECT_EQ(reply["layer"], 0);
  EXPECT_TRUE(reply["image"].get<std::string>().starts_with("data:image/png;base64,"));
  EXPECT_EQ(post("/v1/explain?x=0.5").status, 400);
  for (const char* none : {"unicorn", "10", "-1", "3x"}) {
    const HttpReply refused = post(std::string("/v1/explain?class=") + none);
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.body.find("is none of the 10 classes"), std::string::npos) << refused.body;
  }
  const HttpReply deep = post("/v1/explain?x=0&y=0&layer=99");
  EXPECT_EQ(deep.status, 400);
  EXPECT_NE(deep.body.find("layer 99 of mini"), std::string::npos) << deep.body;
}

TEST_F(ApiTest, SegmentsAndDetects) {
  start();
  const std::string bytes = photo();
  const ImageBytes images({{"image", image_bytes(bytes)}});
  const auto models = all_models();
  const json plain = json::parse(post("/v1/segment").body)["results"][0];
  const auto expected = models[1].model->segment(images);
  const json classes =
      json::parse(segmentation_json(expected.at(0), models[1].model->classes()))["classes"];
  EXPECT_EQ(plain["classes"], classes);
  EXPECT_EQ(plain["width"], 320);
  EXPECT_FALSE(plain.contains("overlay"));
  EXPECT_TRUE(json::parse(post("/v1/segment?draw=true").body)["results"][0].contains("overlay"));

  const json objects = json::parse(post("/v1/detect?draw=true&score=0").body)["results"][0];
  const auto found = models[2].model->detect(images);
  ASSERT_EQ(objects["detections"].size(), found.at(0).prediction.size());
  for (size_t i = 0; i < found[0].prediction.size(); ++i) {
    EXPECT_EQ(objects["detections"][i],
              json::parse(
                  detection_json(found[0].prediction[i], 1, "image", models[2].model->classes())));
  }
  EXPECT_EQ(post("/v1/detect", "broken").status, 422);
}

TEST_F(ApiTest, ListsAndDescribes) {
  start();
  const json models = json::parse(ask("GET", "/v1/models").body)["models"];
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0]["name"], "pets");
  EXPECT_EQ(models[0]["classes"].size(), 10u);
  EXPECT_EQ(models[1]["task"], "segment");
  EXPECT_EQ(models[2]["task"], "detect");
  EXPECT_EQ(models[0]["max_size"], 1024);
  EXPECT_TRUE(models[0].contains("seen") && !models[0].contains("colors"));
  EXPECT_FALSE(models[1].contains("seen")) << "the whole image";
  EXPECT_EQ(models[1]["colors"].size(), 4u);
  const Color first = class_palette(1, std::vector<std::string>{"road"})[0];
  EXPECT_EQ(models[1]["colors"][0],
            fmt::format("#{:02x}{:02x}{:02x}", first[0], first[1], first[2]));
  EXPECT_EQ(json::parse(ask("GET", "/openapi.json").body),
            json::parse(openapi_text(ApiOptions().max_size)));
  EXPECT_EQ(ask("GET", "/health").status, 200);
  EXPECT_EQ(ask("GET", "/ready").status, 200);
  const HttpReply page = ask("GET", "/");
  EXPECT_TRUE(page.body.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.body.find("http://"), std::string::npos) << "the page needs no other address";
  EXPECT_EQ(page.body.find("https://"), std::string::npos);
  // Only the page's own scripts run: they carry an unpredictable nonce.
  const std::string policy = page.header("content-security-policy"), mark = "script-src 'nonce-";
  ASSERT_NE(policy.find(mark), std::string::npos) << policy;
  const size_t begin = policy.find(mark) + mark.size();
  const std::string nonce = policy.substr(begin, policy.find('\'', begin) - begin);
  EXPECT_GE(nonce.size(), 32u);
  EXPECT_NE(page.body.find("<script nonce=\"" + nonce + "\">"), std::string::npos);
  EXPECT_NE(page.body.find("<style nonce=\"" + nonce + "\">"), std::string::npos);
  EXPECT_EQ(ask("GET", "/").body.find(nonce), std::string::npos) << "another one each time";
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  api_->begin_stop();
  EXPECT_EQ(ask("GET", "/ready").status, 503);
  EXPECT_EQ(ask("GET", "/health").status, 200);
}

TEST_F(ApiTest, InvalidRequestsGetAReason) {
  ApiOptions options;
  options.most_images = 2;
  options.max_size = 128;
  options.decode.max_pixels = 320 * 240;
  start(options);
  const std::string jpeg = "Content-Type: image/jpeg\r\n";
  EXPECT_EQ(post("/v1/classify?model=none").status, 404);
  EXPECT_EQ(post("/v1/classify?model=streets").status, 400);
  EXPECT_EQ(post("/v1/classify?top=0").status, 400);
  EXPECT_EQ(post("/v1/classify?top=x").status, 400);
  EXPECT_EQ(post("/v1/classify?top=").status, 400);
  EXPECT_EQ(post("/v1/classify?threshold=nan").status, 400);
  EXPECT_EQ(post("/v1/classify?threshold=1.1").status, 400);
  EXPECT_EQ(post("/v1/classify?size=129").status, 400);
  EXPECT_EQ(post("/v1/classify?size=128").status, 200);
  EXPECT_EQ(post("/v1/classify?size=-64").status, 400);
  EXPECT_EQ(post("/v1/classify?what=1").status, 400);
  EXPECT_EQ(post("/v1/embed?map=maybe").status, 400);
  EXPECT_EQ(post("/v1/classify", "", jpeg).status, 400);
  EXPECT_EQ(post("/v1/classify", "GIF89a", jpeg).status, 422);
  EXPECT_EQ(post("/v1/explain?layer=0").status, 400);
  EXPECT_EQ(post("/v1/explain?x=0&y=0&class=1").status, 400);
  EXPECT_EQ(post("/v1/classify", "x", "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(post("/v1/classify", "{}", "Content-Type: application/json\r\n").status, 400);
  EXPECT_EQ(post("/v1/classify", R"({"images":["QQ==","QQ==","QQ=="]})",
                 "Content-Type: application/json\r\n")
                .status,
            413);
  const HttpReply large = post("/v1/classify", read_file(image_file("photos/cat_chelsea.png")));
  EXPECT_EQ(large.status, 422);
  EXPECT_NE(large.body.find("pixels"), std::string::npos) << large.body;
  EXPECT_EQ(ask("GET", "/v1/classify").header("allow"), "POST");
  EXPECT_EQ(ask("GET", "/v1/classify").status, 405);
  EXPECT_EQ(ask("POST", "/health", "x").status, 405);
  for (const char* path : {"/v1", "/v1/classify/", "/../etc/passwd", "/etc/passwd", "//",
                           "/v1/models/pets", "/%2e%2e/x", "*"}) {
    EXPECT_EQ(ask("GET", path).status, 404) << path;
  }
  const std::string counted = ask("GET", "/metrics").body;
  EXPECT_EQ(counted.find("passwd"), std::string::npos) << "clients invent no counters";
  EXPECT_NE(counted.find("vig_requests_total{route=\"other\",status=\"404\"} 8\n"),
            std::string::npos)
      << counted;
  EXPECT_NE(counted.find("vig_errors_total{kind=\"bad_image\"} 2\n"), std::string::npos);
  EXPECT_NE(counted.find("vig_request_seconds_bucket{route=\"/v1/classify\",le=\"+Inf\"}"),
            std::string::npos);
  EXPECT_NE(counted.find("vig_batch_images_count{} 3\n"), std::string::npos) << counted;
  EXPECT_NE(counted.find("\nvig_queue_images 0\n"), std::string::npos);
}

TEST_F(ApiTest, ManyLargeInputsAreTooMany) {
  start();
  const auto status = [&](int images, const std::string& target) {
    std::string list;
    for (int i = 0; i < images; ++i) list += i == 0 ? "\"QQ==\"" : ",\"QQ==\"";
    return post(target, "{\"images\":[" + list + "]}", "Content-Type: application/json\r\n").status;
  };
  EXPECT_EQ(status(8, "/v1/embed?size=1024&map=1"), 422) << "none of them is an image";
  EXPECT_EQ(status(9, "/v1/embed?size=1024&map=1"), 413);
  EXPECT_EQ(status(9, "/v1/embed?map=1"), 422);
}

TEST_F(ApiTest, ABrokenImageSpoilsNoOther) {
  start();
  const std::string png = read_file(image_file("formats/photo.png"));
  for (const std::string& broken : {std::string(), std::string("GIF89a")}) {
    const std::string part = "--b\r\nContent-Disposition: form-data; name=p; filename=f\r\n\r\n";
    const HttpReply reply = post("/v1/classify", part + broken + "\r\n" + part + png + "\r\n--b--",
                                 "Content-Type: multipart/form-data; boundary=b\r\n");
    EXPECT_EQ(reply.status, 200) << reply.body;
    const json results = json::parse(reply.body)["results"];
    EXPECT_TRUE(results.at(0).contains("error"));
    EXPECT_TRUE(results.at(1).contains("classes"));
  }
  const HttpReply text =
      post("/v1/classify", R"({"images":["*","QQ=="]})", "Content-Type: application/json\r\n");
  EXPECT_EQ(text.status, 422);
  const json results = json::parse(text.body)["results"];
  EXPECT_TRUE(results.at(0)["error"].get<std::string>().starts_with("image 1: "));
  EXPECT_TRUE(results.at(1)["error"].get<std::string>().starts_with("image 2: "));
}

TEST_F(ApiTest, ServersWithoutAModelOfTheTaskSayIt) {
  start({}, {{"pets", classifier()}});
  const HttpReply reply = post("/v1/segment");
  EXPECT_EQ(reply.status, 404);
  EXPECT_NE(reply.body.find("no model for segment"), std::string::npos);
}

TEST_F(ApiTest, TheTokenIsAsked) {
  ApiOptions options;
  options.token = "secret";
  start(options);
  EXPECT_EQ(ask("GET", "/").status, 200);
  EXPECT_EQ(ask("GET", "/health").status, 200);
  for (const char* header :
       {"", "Authorization: Bearer\r\n", "Authorization: Bearer secre\r\n",
        "Authorization: Bearer secrett\r\n", "Authorization: Bearer Secret\r\n",
        "Authorization: secret\r\n", "Authorization: Basic secret\r\n"}) {
    EXPECT_EQ(ask("GET", "/v1/models", "", header).status, 401) << header;
    EXPECT_EQ(ask("GET", "/metrics", "", header).status, 401) << header;
    EXPECT_EQ(post("/v1/classify", photo(), header).status, 401) << header;
  }
  const std::string right = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(ask("GET", "/v1/models", "", right).status, 200);
  EXPECT_EQ(post("/v1/classify", photo(), right).status, 200);
}

TEST_F(ApiTest, ForeignPagesCannotUseALocalServer) {
  ApiOptions options;
  options.local_hosts = true;
  start(options);
  const auto status = [&](const std::string& host) {
    return test::ask(served_->port(), "GET /health HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  for (const char* host : {"localhost", "localhost:8080", "127.0.0.1", "127.0.0.1:80", "[::1]:1"}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  const auto from = [&](const std::string& origin) {
    return test::ask(served_->port(),
                     "GET /health HTTP/1.1\r\nHost: LocalHost\r\nOrigin: " + origin + "\r\n\r\n")
        .status;
  };
  EXPECT_EQ(from("http://127.0.0.1:8080"), 200);
  for (const char* origin :
       {"https://example.org", "http://example.org", "null", "http://10.0.0.1"}) {
    EXPECT_EQ(from(origin), 403) << origin;
  }
  // The host of a whole address counts, whatever the header says.
  const auto whole = [&](const std::string& address) {
    return test::ask(served_->port(), request_text("GET", address)).status;
  };
  EXPECT_EQ(whole("http://127.0.0.1:1/health"), 200);
  EXPECT_EQ(whole("http://example.org/health"), 403);
  EXPECT_EQ(whole("http://example.org"), 403);
  for (const char* host :
       {"example.org", "127.0.0.1.example.org", "localhost.example.org:80", "[::2]", "10.0.0.1"}) {
    EXPECT_EQ(status(host), 403) << host;
  }
}

TEST_F(ApiTest, AFullQueueSaysWhenToComeBack) {
  std::counting_semaphore<10> running{0}, go{0};
  ApiOptions options;
  options.queue = {.most_waiting = 1, .batch = 1, .wait = {}, .workers = 1};
  // The first reply holds the only worker, since replies are logged before they are sent.
  options.log = [&](const std::string& route, int status, double) {
    if (route != "/v1/classify" || status != 200) return;
    running.release();
    go.acquire();
  };
  start(options);
  Client first(served_->port()), second(served_->port());
  first.send(request_text("POST", "/v1/classify", photo()));
  running.acquire();
  second.send(request_text("POST", "/v1/classify", photo()));
  while (ask("GET", "/ready").status == 200) std::this_thread::yield();
  const HttpReply refused = post("/v1/classify");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_NE(refused.body.find("queue_full"), std::string::npos);
  EXPECT_NE(refused.body.find("(raise the limit with --queue)"), std::string::npos);
  go.release(2);
  EXPECT_EQ(first.read().status, 200);
  EXPECT_EQ(second.read().status, 200);
}

TEST_F(ApiTest, ABatchIsTakenApartAgain) {
  std::counting_semaphore<10> running{0}, go{0};
  ApiOptions options;
  options.queue = {.most_waiting = 10, .batch = 8, .wait = std::chrono::hours(1), .workers = 1};
  std::atomic<bool> hold = false;
  options.log = [&](const std::string& route, int, double) {
    if (route != "/v1/embed" || !hold.exchange(false)) return;
    running.release();
    go.acquire();
  };
  start(options);
  const std::string gray = read_file(image_file("photos/kitten_gray.jpg")), colour = photo();
  const json expected = json::parse(post("/v1/embed").body)["results"][0]["values"];
  const json other = json::parse(post("/v1/embed", gray).body)["results"][0]["values"];
  ASSERT_NE(expected, other);
  hold = true;
  Client first(served_->port()), second(served_->port()), third(served_->port());
  first.send(request_text("POST", "/v1/embed", photo()));
  running.acquire();
  const json both = {{"images", {png_uri(image_bytes(gray)), png_uri(image_bytes(colour))}}};
  second.send(request_text("POST", "/v1/embed", both.dump(), "Content-Type: application/json\r\n"));
  const auto wait_for = [&](const std::string& waiting) {
    while (ask("GET", "/metrics").body.find("\nvig_queue_images " + waiting + "\n") ==
           std::string::npos) {
      std::this_thread::yield();
    }
  };
  wait_for("2");
  third.send(request_text("POST", "/v1/embed", gray));
  wait_for("3");
  go.release();
  EXPECT_EQ(first.read().status, 200);
  const json two = json::parse(second.read().body)["results"];
  EXPECT_EQ(two[0]["values"], other);
  EXPECT_EQ(two[1]["values"], expected);
  EXPECT_EQ(json::parse(third.read().body)["results"][0]["values"], other);
  EXPECT_NE(ask("GET", "/metrics").body.find("vig_batch_images_bucket{le=\"2\"} 3\n"),
            std::string::npos)
      << "three alone, then three together";
}

// They wait together and yet run apart, each with its own network and options.
TEST_F(ApiTest, DifferentRequestsAreNoBatch) {
  std::counting_semaphore<10> running{0}, go{0};
  ApiOptions options;
  options.queue = {.most_waiting = 10, .batch = 8, .wait = std::chrono::hours(1), .workers = 1};
  std::atomic<bool> hold = false;
  options.log = [&](const std::string& route, int, double) {
    if (route != "/v1/classify" || !hold.exchange(false)) return;
    running.release();
    go.acquire();
  };
  ModelSource other = classifier()->source();
  for (std::string& name : other.classes) name = "other " + name;
  start(options, {{"pets", classifier()},
                  {"others", std::make_shared<const OpenModel>(std::move(other),
                                                               vig::RunOptions{.threads = 1})}});
  const std::vector<std::string> targets = {"/v1/classify", "/v1/classify?model=others",
                                            "/v1/classify?top=1", "/v1/classify?size=96"};
  std::vector<std::string> alone;
  for (const std::string& target : targets) alone.push_back(post(target).body);
  hold = true;
  Client first(served_->port());
  first.send(request_text("POST", "/v1/classify", photo()));
  running.acquire();
  std::list<Client> clients;
  for (const std::string& target : targets) {
    clients.emplace_back(served_->port()).send(request_text("POST", target, photo()));
    const std::string line = "\nvig_queue_images " + std::to_string(clients.size()) + "\n";
    while (ask("GET", "/metrics").body.find(line) == std::string::npos) std::this_thread::yield();
  }
  go.release();
  EXPECT_EQ(first.read().body, alone[0]);
  for (const std::string& expected : alone) {
    EXPECT_EQ(clients.front().read().body, expected);
    clients.pop_front();
  }
}

// The reader of bodies is held by a reply that is logged; a second request waits behind it.
TEST(Api, WhatWaitsToBeReadIsDropped) {
  for (const size_t bytes : {size_t{100}, size_t{2} << 20}) {
    SCOPED_TRACE(bytes);
    std::counting_semaphore<10> running{0}, go{0};
    ApiOptions options;
    options.log = [&](const std::string&, int, double) {
      running.release();
      go.acquire();
    };
    ServerMetrics metrics;
    std::atomic<int> replies = 0;
    const auto waiting = std::make_shared<int>();
    {
      Api api({{"pets", classifier()}}, options, metrics);
      HttpRequest request;
      request.method = "POST";
      request.path = "/v1/classify";
      request.content_type = "application/json";
      request.body = std::string(bytes, 'x');
      api.handle(request, [&](const HttpResponse&) { ++replies; });
      running.acquire();
      api.handle(request, [&replies, waiting](const HttpResponse&) { ++replies; });
      EXPECT_GT(waiting.use_count(), 1);
      api.drop_waiting();
      EXPECT_EQ(waiting.use_count(), 1);
      go.release(2);
    }
    EXPECT_EQ(replies, 1);
  }
}

TEST_F(ApiTest, WhatWaitedTooLongIsRefused) {
  ApiOptions options;
  options.wait_seconds = -1;
  start(options);
  const HttpReply late = post("/v1/classify");
  EXPECT_EQ(late.status, 503);
  EXPECT_NE(late.body.find("waited_too_long"), std::string::npos);
}

TEST_F(ApiTest, ManyClientsGetTheResultsOfTheirOwnImages) {
  start();
  const std::vector<std::string> images = {photo(), read_file(image_file("photos/kitten_gray.jpg")),
                                           read_file(image_file("photos/flower.webp")),
                                           read_file(image_file("photos/pixel_1x1.png"))};
  std::vector<std::string> expected;
  for (const std::string& one : images) expected.push_back(post("/v1/embed", one).body);
  std::vector<std::thread> clients;
  std::atomic<int> wrong = 0;
  for (size_t i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      Client client(served_->port());
      for (size_t j = 0; j < 8; ++j) {
        const size_t k = (i + j) % images.size();
        client.send(request_text("POST", "/v1/embed", images[k]));
        wrong += client.read().body == expected[k] ? 0 : 1;
      }
    });
  }
  for (std::thread& one : clients) one.join();
  EXPECT_EQ(wrong, 0) << "the same bits alone and in any batch";
}

TEST(JsonSchema, FindsWhatDoesNotFit) {
  const json document = {{"a", {{"type", "integer"}, {"minimum", 1}}}};
  const json schema = {{"type", "object"},
                       {"properties", {{"n", {{"$ref", "#/a"}}}, {"e", {{"enum", {"x"}}}}}},
                       {"required", {"n"}},
                       {"additionalProperties", false}};
  const auto count = [&](const json& value) {
    return schema_problems(document, schema, value).size();
  };
  EXPECT_EQ(count({{"n", 1}, {"e", "x"}}), 0u);
  EXPECT_EQ(count({{"n", 0}}), 1u);
  EXPECT_EQ(count({{"n", 1.5}}), 1u);
  EXPECT_EQ(count({{"e", "y"}}), 2u);
  EXPECT_EQ(count({{"n", 1}, {"z", 1}}), 1u);
  EXPECT_EQ(count(3), 1u);
  EXPECT_EQ(schema_problems(document, {{"pattern", "x"}}, "x").size(), 1u);
}

}  // namespace
}  // namespace vig::test
