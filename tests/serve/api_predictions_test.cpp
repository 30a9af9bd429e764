// Predictions beside those of the library: options reach the network, and what is drawn belongs to
// its own image.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline/fixtures.h"
#include "serve/api_fixture.h"
#include "support/files.h"
#include "vig/image/encode_png.h"
#include "vig/image/preprocess.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/classification.h"
#include "vig/tasks/explanation.h"
#include "vig/tasks/jpeg_uri.h"
#include "vig/tasks/overlay.h"

namespace vig::test {
namespace {

using nlohmann::json;

json first_result(const HttpReply& reply) {
  EXPECT_EQ(reply.status, 200) << reply.body;
  return json::parse(reply.body)["results"][0];
}

TEST_F(ApiTest, SizesAndThresholdsReachTheNetwork) {
  start();
  const std::string bytes = photo();
  const ImageBytes images({{"image", image_bytes(bytes)}});
  const OpenModel& model = *classifier();
  EXPECT_EQ(first_result(post("/v1/classify?size=96")),
            json::parse(classification_json(model.classify(images, 5, 96).at(0))));
  // No class of ten is as probable as that.
  const json unsure = first_result(post("/v1/classify?threshold=1"));
  EXPECT_EQ(unsure["none_of_them"], true);
  EXPECT_EQ(unsure, json::parse(classification_json(model.classify(images, 5).at(0), {"", 1.0})));
  EXPECT_EQ(first_result(post("/v1/explain?class=2&size=96")),
            json::parse(explanation_json(model.evidence(images, {2, -1}, 96).at(0), "")));
  EXPECT_EQ(
      first_result(post("/v1/explain?x=0.25&y=0.75&layer=0&head=1&size=96")),
      json::parse(explanation_json(model.attention(images, {0.25, 0.75, 0, 1}, 96).at(0), "")));
}

TEST_F(ApiTest, ExplanationsAreDrawnOverWhatTheNetworkSaw) {
  start();
  const std::string bytes = photo();
  const ImageBytes images({{"image", image_bytes(bytes)}});
  const auto image = images.load(0).image;
  const Recipe recipe = classifier()->runner()->recipe(96);
  const SeenPart seen = seen_part(place(recipe, image->width, image->height));
  const auto evidence = classifier()->evidence(images, {2, 5}, 96).at(0);
  EXPECT_EQ(first_result(post("/v1/explain?class=2&against=5&size=96&draw=1"))["image"],
            png_uri(encode_png(draw_explanation(*image, seen, evidence.prediction.map, 0.7))));
  const auto attention = classifier()->attention(images, {0.5, 0.25, 1, -1}, 96).at(0);
  EXPECT_EQ(first_result(post("/v1/explain?x=0.5&y=0.25&layer=1&size=96&draw=1"))["image"],
            png_uri(encode_png(draw_explanation(*image, seen, attention.prediction.map, 0.7))));
}

TEST_F(ApiTest, LabelsAndObjectsAreDrawnOverTheImage) {
  start();
  const std::string bytes = photo();
  const ImageBytes images({{"image", image_bytes(bytes)}});
  const auto image = images.load(0).image;
  const auto models = all_models();
  const OpenModel &segmenter = *models[1].model, &detector = *models[2].model;
  EXPECT_EQ(first_result(post("/v1/segment?draw=1"))["overlay"],
            png_uri(encode_png(draw_segmentation(
                *image, segmenter.segment(images).at(0).prediction.labels, segmenter.classes()))));
  // Objects that are as good as asked for are left out, from the list and from the drawing.
  Detections found = detector.detect(images).at(0).prediction;
  ASSERT_GT(found.size(), 1u);
  const float least = found[found.size() / 2].score;
  std::erase_if(found, [&](const Detection& one) { return one.score <= least; });
  ASSERT_FALSE(found.empty());
  const std::string target = fmt::format("/v1/detect?score={}", least);
  const json drawn = first_result(post(target + "&draw=1"));
  EXPECT_EQ(drawn["detections"].size(), found.size());
  EXPECT_EQ(drawn["overlay"],
            png_uri(encode_png(draw_detections(*image, found, detector.classes()))));
  EXPECT_EQ(drawn["width"], 320);
  EXPECT_EQ(drawn["height"], 240);
  EXPECT_FALSE(first_result(post(target)).contains("overlay"));
  OverlayOptions bare;
  bare.labels = LabelText::kNone;
  EXPECT_EQ(first_result(post(target + "&draw=1&labels=none"))["overlay"],
            png_uri(encode_png(draw_detections(*image, found, detector.classes(), bare))));
}

// The miniatures see 320 x 240 pixels 2.5 and 3.8 times smaller.
TEST_F(ApiTest, WarningsStandInTheResults) {
  start();
  const auto kinds = [&](const std::string& target) {
    std::vector<std::string> all;
    const json result = first_result(post(target));
    for (const json& one : result.value("warnings", json::array())) {
      all.push_back(one["kind"]);
      EXPECT_FALSE(one["message"].get<std::string>().empty());
    }
    return all;
  };
  using Kinds = std::vector<std::string>;
  EXPECT_EQ(kinds("/v1/segment"), Kinds{"shrunk"});
  EXPECT_EQ(kinds("/v1/detect"), Kinds{"shrunk"});
  EXPECT_EQ(kinds("/v1/classify"), Kinds{});
}

// Images of other clients may stand in the same batch.
TEST_F(ApiTest, EveryImageGetsWhatItWouldGetAlone) {
  start();
  const std::string colour = read_file(image_file("formats/photo.png"));
  const std::string gray = read_file(image_file("formats/gray.gif"));
  const std::string type = "Content-Type: application/json\r\n";
  const auto without_name = [](json result) {
    result.erase("file");
    for (json& object : result.contains("detections") ? result["detections"] : result) {
      if (object.is_object()) object.erase("file_name");
    }
    return result;
  };
  const json both = {{"images", {png_uri(image_bytes(gray)), png_uri(image_bytes(colour))}}};
  for (const char* target :
       {"/v1/classify", "/v1/embed", "/v1/explain?draw=1", "/v1/explain?x=0.5&y=0.5&draw=1",
        "/v1/segment?draw=1", "/v1/detect?draw=1&score=0"}) {
    SCOPED_TRACE(target);
    const json together = json::parse(post(target, both.dump(), type).body)["results"];
    ASSERT_EQ(together.size(), 2u);
    EXPECT_EQ(without_name(together[0]), without_name(first_result(post(target, gray))));
    EXPECT_EQ(without_name(together[1]), without_name(first_result(post(target, colour))));
    EXPECT_NE(without_name(together[0]), without_name(together[1]));
  }
}

}  // namespace
}  // namespace vig::test
