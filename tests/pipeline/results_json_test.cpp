#include "vig/pipeline/results_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "vig/image/mask.h"
#include "vig/pipeline/json_text.h"

namespace vig::test {
namespace {

using nlohmann::json;

TEST(JsonText, NumbersAreShort) {
  Json value;
  value["a"] = short_number(-0.8007494f);
  value["-0.8007493999999999\\\""] = "-0.8007493999999999";
  value["b"] = Json::array({1e-300, 0.1, -12345678901234567, true, nullptr});
  EXPECT_EQ(json_text(value),
            "{\"a\":-0.8007494,\"-0.8007493999999999\\\\\\\"\":\"-0.8007493999999999\","
            "\"b\":[1e-300,0.1,-12345678901234567,true,null]}");
}

TEST(ResultsJson, AClassification) {
  ClassifiedImage image{"a \xff.jpg", {{{2, "cat", 0.7f, 1.1f}, {0, "", 0.3f, -2.0f}}}, ""};
  EXPECT_EQ(classification_json(image, {"m.safetensors"}),
            "{\"file\":\"a \xef\xbf\xbd.jpg\",\"model\":\"m.safetensors\",\"classes\":["
            "{\"index\":2,\"name\":\"cat\",\"probability\":0.7,\"logit\":1.1},"
            "{\"index\":0,\"probability\":0.3,\"logit\":-2.0}]}");
  image.error = "broken";
  EXPECT_EQ(json::parse(classification_json(image)),
            (json{{"file", "a \xef\xbf\xbd.jpg"}, {"error", "broken"}}));
}

TEST(ResultsJson, AnEmbedding) {
  EmbeddedImage image{"a\"b", {false, 1, 1, 2, {0.5f, 1e-9f}}, ""};
  EXPECT_EQ(embedding_json(image), R"({"file":"a\"b","shape":[2],"values":[0.5,1e-09]})");
  image.prediction.map = true;
  EXPECT_EQ(json::parse(embedding_json(image))["shape"], (json{1, 1, 2}));
  image.error = "line\nbreak";
  EXPECT_EQ(embedding_json(image), R"({"file":"a\"b","error":"line\nbreak"})");
}

TEST(ResultsJson, ASegmentation) {
  SegmentedImage image;
  image.name = "a.jpg";
  image.prediction.labels = LabelMap(2, 2, 1);
  image.prediction.labels.labels[3] = 0;
  EXPECT_EQ(segmentation_json(image, {"sky"}, {"a.overlay.png", "a.labels.png", ""}),
            "{\"file\":\"a.jpg\",\"width\":2,\"height\":2,\"overlay\":\"a.overlay.png\","
            "\"labels\":\"a.labels.png\",\"classes\":["
            "{\"index\":1,\"pixels\":3,\"share\":0.75},"
            "{\"index\":0,\"name\":\"sky\",\"pixels\":1,\"share\":0.25}]}");
  image.warnings = {{kShrunkWarning, "too small"}};
  const json warned = json::parse(segmentation_json(image, {}));
  EXPECT_EQ(warned["warnings"], json::parse(R"([{"kind":"shrunk","message":"too small"}])"));
  EXPECT_EQ(json::parse(warnings_json(image.warnings)), warned["warnings"]);
  image.error = "broken";
  EXPECT_EQ(segmentation_json(image, {}), R"({"file":"a.jpg","error":"broken"})");
}

// What COCO's own tools read.
TEST(ResultsJson, ADetection) {
  const Detection one{{1, 2, 4, 8}, 1, 0.5f, {3, 2, {1, 2, 3}}};
  const json found = json::parse(detection_json(one, 139, "000139.jpg", {"cat", "dog"}));
  EXPECT_EQ(found["image_id"], 139);
  EXPECT_EQ(found["category_id"], 2);
  EXPECT_EQ(found["category_name"], "dog");
  EXPECT_EQ(found["bbox"], (json{1, 2, 3, 6}));
  EXPECT_EQ(found["score"], 0.5);
  EXPECT_EQ(found["segmentation"]["size"], (json{2, 3}));
  EXPECT_EQ(mask_from_text("", found["segmentation"]["counts"].get<std::string>(), 3, 2), one.mask);
  EXPECT_EQ(found["file_name"], "000139.jpg");
  EXPECT_FALSE(found.contains("warnings"));
  const json warned =
      json::parse(detection_json(one, 1, "a.jpg", {}, {{kMostObjectsWarning, "too many"}}));
  EXPECT_EQ(warned["warnings"], json::parse(R"([{"kind":"most_objects","message":"too many"}])"));
}

TEST(ResultsJson, AnExplanation) {
  ImageEvidence evidence;
  evidence.name = "a.jpg";
  evidence.prediction.about = {2, "cat", 0.75f, 1.5f};
  evidence.prediction.map = {1, 2, {0.1f, -3}};
  const std::string cat = R"({"index":2,"name":"cat","probability":0.75,"logit":1.5})";
  EXPECT_EQ(explanation_json(evidence, ""),
            R"({"file":"a.jpg","class":)" + cat + R"(,"shape":[1,2],"values":[0.1,-3]})");
  evidence.prediction.against = ClassScore{0, "", 0.25f, -1.0f};
  EXPECT_EQ(explanation_json(evidence, "a.png"),
            R"({"file":"a.jpg","image":"a.png","class":)" + cat +
                R"(,"against":{"index":0,"probability":0.25,"logit":-1.0},)" +
                R"("shape":[1,2],"values":[0.1,-3]})");
  ImageAttention attention;
  attention.name = "a.jpg";
  attention.prediction = {3, -1, 1, 0, {2, 1, {0.5f, 0.25f}}};
  EXPECT_EQ(explanation_json(attention, ""),
            R"({"file":"a.jpg","layer":3,"row":1,"column":0,"shape":[2,1],"values":[0.5,0.25]})");
  attention.prediction.head = 0;
  EXPECT_EQ(explanation_json(attention, "a.png"),
            R"({"file":"a.jpg","image":"a.png","layer":3,"head":0,"row":1,"column":0,)"
            R"("shape":[2,1],"values":[0.5,0.25]})");
  evidence.error = attention.error = "broken";
  EXPECT_EQ(explanation_json(evidence, "a.png"), R"({"file":"a.jpg","error":"broken"})");
  EXPECT_EQ(explanation_json(attention, "a.png"), R"({"file":"a.jpg","error":"broken"})");
}

TEST(ResultsJson, AnEvaluation) {
  Evaluation result;
  result.metrics = ClassificationMetrics(3);
  result.metrics.add(std::vector<float>{5, 0, 0}, 0);
  result.metrics.add(std::vector<float>{5, 0, 0}, 1);
  result.skipped = 4;
  result.seconds = 0.5;
  const json parsed =
      json::parse(evaluation_json({"m", "test_vig", "images", "val", {"x", "y", "z"}}, result));
  EXPECT_EQ(parsed["model"], "m");
  EXPECT_EQ(parsed["arch"], "test_vig");
  EXPECT_EQ(parsed["data"], "images");
  EXPECT_EQ(parsed["split"], "val");
  EXPECT_EQ(parsed["images"], 2);
  EXPECT_EQ(parsed["skipped"], 4);
  EXPECT_EQ(parsed["complete"], true);
  EXPECT_EQ(parsed["top1"], 0.5);
  EXPECT_TRUE(parsed["top5"].is_null()) << "three classes have no five best";
  EXPECT_EQ(parsed["images_per_second"], 4.0);
  ASSERT_EQ(parsed["classes"].size(), 3u);
  EXPECT_EQ(parsed["classes"][1]["name"], "y");
  EXPECT_EQ(parsed["classes"][1]["recall"], 0.0);
  EXPECT_TRUE(parsed["classes"][2]["recall"].is_null()) << "no images";
  EXPECT_EQ(parsed["confusion"], (json{{{"label", 0}, {"prediction", 0}, {"images", 1}},
                                       {{"label", 1}, {"prediction", 0}, {"images", 1}}}));
}

}  // namespace
}  // namespace vig::test
