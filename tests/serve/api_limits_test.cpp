// Requests and responses that are large: each is bounded, all together are, and small requests do
// not wait for them.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>
#include <semaphore>

#include "pipeline/fixtures.h"
#include "serve/api_fixture.h"
#include "support/files.h"
#include "vig/image/encode_png.h"
#include "vig/pipeline/results_json.h"
#include "vig/serve/predict.h"
#include "vig/tasks/jpeg_uri.h"

namespace vig::test {
namespace {

using nlohmann::json;

const std::string kJson = "Content-Type: application/json\r\n";

std::string two_images(const std::string& first, const std::string& second) {
  return json({{"images", {png_uri(image_bytes(first)), png_uri(image_bytes(second))}}}).dump();
}

// 300000 pixels that do not compress: drawn on they become more than a megabyte.
std::string noise() {
  Image image(600, 500);
  std::minstd_rand random(1);
  for (uint8_t& value : image.rgb) value = static_cast<uint8_t>(random() >> 8);
  const std::vector<uint8_t> png = encode_png(image);
  return {png.begin(), png.end()};
}

std::string kind_of(const HttpReply& reply) {
  const json body = json::parse(reply.body);
  return body.contains("error") ? body["error"]["kind"].get<std::string>() : "";
}

// Holds responses of some routes in their worker, since they are logged before they are sent.
struct Hold {
  std::function<void(const std::string&, int, double)> log(std::string route) {
    return [this, held = std::move(route)](const std::string& path, int status, double) {
      if (path != held || status != 200 || !on) return;
      running.release();
      go.acquire();
    };
  }
  std::atomic<bool> on = true;
  std::counting_semaphore<10> running{0}, go{0};
};

TEST(PixelsOf, ImagesAreCountedAndOthersAreNot) {
  const std::string cat = photo(), pixel = read_file(image_file("photos/pixel_1x1.png"));
  const std::vector<SentImage> all = {
      {"a", cat}, {"b", "no image"}, {"c", pixel}, {"d", "", "not sent"}};
  EXPECT_EQ(pixels_of(all, {}), 320 * 240 + 1);
  EXPECT_EQ(pixels_of(all, {.max_pixels = 1000}), 1) << "those that are refused count nothing";
}

TEST_F(ApiTest, PixelsToDrawOnAreLimited) {
  ApiOptions options;
  options.max_drawn_pixels = 320 * 240;
  start(options);
  const std::string both = two_images(photo(), photo());
  for (const std::string route : {"/v1/segment", "/v1/detect", "/v1/explain"}) {
    EXPECT_EQ(post(route + "?draw=true").status, 200) << route;
    EXPECT_EQ(post(route, both, kJson).status, 200) << route;
    EXPECT_EQ(post(route + "?draw=1", two_images(photo(), "GIF89a"), kJson).status, 200) << route;
    const HttpReply refused = post(route + "?draw=true", both, kJson);
    EXPECT_EQ(refused.status, 413) << route;
    EXPECT_EQ(kind_of(refused), "too_many_pixels");
    EXPECT_NE(refused.body.find("have 153600 pixels, expected at most 76800 in a request "
                                "(--max-drawn-pixels)"),
              std::string::npos)
        << refused.body;
  }
}

TEST_F(ApiTest, LargeResponsesUnderWayAreBoundedTogether) {
  Hold hold;
  ApiOptions options;
  options.queue = {.most_waiting = 10, .batch = 1, .wait = {}, .workers = 2};
  options.all_response_bytes = 2'000'000;  // of which 1,750,000 are for large ones
  options.log = hold.log("/v1/segment");
  start(options);
  const std::string image = noise(), target = "/v1/segment?draw=true";
  Client first(served_->port());
  first.send(request_text("POST", target, image));
  hold.running.acquire();
  hold.on = false;
  const HttpReply refused = post(target, image);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(kind_of(refused), "too_many_response_bytes");
  const std::string small = read_file(image_file("formats/photo.png"));
  EXPECT_EQ(post(target, small).status, 200) << "a small response has room";
  hold.go.release();
  const HttpReply reply = first.read();
  EXPECT_EQ(reply.status, 200);
  EXPECT_GT(reply.body.size(), 800'000u) << "what is under way must be large for this test";
  // From the moment on when it is sent, there is room again.
  while (post(target, image).status == 503) std::this_thread::yield();
}

// Those that are not drawn are counted when they are made.
TEST_F(ApiTest, SmallResponsesUnderWayAreBoundedTogether) {
  const std::string bytes = photo();
  const ImageBytes images({{"image", image_bytes(bytes)}});
  const size_t usual =
      embedding_json(classifier()->embed(images, Embedder::Kind::kPooled).at(0)).size();
  Hold hold;
  ApiOptions options;
  options.queue = {.most_waiting = 10, .batch = 1, .wait = {}, .workers = 2};
  options.all_response_bytes = 8 * (usual + usual / 2);
  options.log = hold.log("/v1/embed");
  start(options);
  Client first(served_->port());
  first.send(request_text("POST", "/v1/embed", bytes));
  hold.running.acquire();
  hold.on = false;
  const HttpReply refused = post("/v1/embed");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(kind_of(refused), "too_many_response_bytes");
  hold.go.release();
  EXPECT_EQ(first.read().status, 200);
  while (post("/v1/embed").status == 503) std::this_thread::yield();
}

// They would not fit even alone, so it is no use to try again.
TEST_F(ApiTest, ResponsesThatNeverFitAreRefused) {
  ApiOptions options;
  options.all_response_bytes = 8000;
  start(options);
  const HttpReply drawn = post("/v1/segment?draw=true");
  EXPECT_EQ(drawn.status, 413);
  EXPECT_EQ(kind_of(drawn), "too_many_pixels");
  EXPECT_NE(drawn.body.find("may become 307200 bytes, expected at most 7000 in a response "
                            "(--max-responses)"),
            std::string::npos)
      << drawn.body;
  const HttpReply map = post("/v1/embed?map=true&size=256");
  EXPECT_EQ(map.status, 413);
  EXPECT_EQ(kind_of(map), "response_too_large");
  EXPECT_NE(map.body.find("expected at most 7000 (--max-responses)"), std::string::npos);
  EXPECT_EQ(post("/v1/classify?top=1").status, 200);
}

TEST_F(ApiTest, SmallRequestsFinishWhileLargeOnesRun) {
  const std::string pixel = read_file(image_file("photos/pixel_1x1.png"));
  for (const std::string target : {"/v1/segment?draw=true", "/v1/classify"}) {
    SCOPED_TRACE(target);
    Hold hold;
    ApiOptions options;
    options.queue = {.most_waiting = 10, .batch = 1, .wait = {}, .workers = 2};
    // A drawn pixel counts eight times.
    options.large_pixels = (target == "/v1/classify" ? 1 : 8) * 320 * 240 - 1;
    options.log = hold.log(target.substr(0, target.find('?')));
    start(options);
    Client first(served_->port()), second(served_->port());
    first.send(request_text("POST", target, photo()));
    hold.running.acquire();
    second.send(request_text("POST", target, photo()));
    bool both = false;
    while (!both &&
           ask("GET", "/metrics").body.find("\nvig_queue_images 1\n") == std::string::npos) {
      both = hold.running.try_acquire();
    }
    EXPECT_FALSE(both) << "large requests run on all workers";
    for (int i = 0; i < 3 && !both; ++i) EXPECT_EQ(post("/v1/embed", pixel).status, 200);
    hold.go.release(2);
    EXPECT_EQ(first.read().status, 200);
    EXPECT_EQ(second.read().status, 200);
    served_->server().stop();
    served_->wait();
    api_.reset();
  }
}

TEST_F(ApiTest, RequestsUpToTheLimitRunOnAllWorkers) {
  Hold hold;
  ApiOptions options;
  options.queue = {.most_waiting = 10, .batch = 1, .wait = {}, .workers = 2};
  options.large_pixels = 320 * 240;
  options.log = hold.log("/v1/classify");
  start(options);
  Client first(served_->port()), second(served_->port());
  first.send(request_text("POST", "/v1/classify", photo()));
  second.send(request_text("POST", "/v1/classify", photo()));
  hold.running.acquire();
  hold.running.acquire();
  hold.go.release(2);
  EXPECT_EQ(first.read().status, 200);
  EXPECT_EQ(second.read().status, 200);
}

}  // namespace
}  // namespace vig::test
