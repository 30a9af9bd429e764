#include "vig/weights/model_info.h"

#include <limits>
#include <string>

#include "support/errors.h"

namespace vig::test {
namespace {

ModelInfo sample() {
  ModelInfo info;
  info.arch = "vig_t";
  info.overrides = {{"num_classes", "3"}, {"img_size", "64"}};
  info.classes = {"Katze", "Hund \"Bello\"", "größer"};
  info.recipe = {.resize = 72,
                 .crop = 64,
                 .interpolation = Interpolation::kBilinear,
                 .mean = {0.1f, 1.0f / 3.0f, 0.0f},
                 .std = {0.25f, 1e-7f, 3e7f}};
  return info;
}

TEST(ModelInfo, RoundTrip) {
  const Metadata metadata = encode_model_info(sample(), {{"format", "pt"}, {"vig.arch", "old"}});
  EXPECT_EQ(metadata.at("format"), "pt");
  EXPECT_EQ(metadata.at("vig.arch"), "vig_t");
  EXPECT_EQ(read_model_info(metadata, "FILE"), sample());
}

TEST(ModelInfo, KeepsTheConfidenceOfACalibratedClassifier) {
  ModelInfo info = sample();
  info.confidence = {.temperature = 0.75, .threshold = 0.3};
  const Metadata metadata = encode_model_info(info);
  EXPECT_EQ(metadata.at("vig.confidence"), R"({"temperature":0.75,"threshold":0.3})");
  EXPECT_EQ(read_model_info(metadata, "FILE"), info);
  // One that is not calibrated any more says nothing.
  EXPECT_FALSE(encode_model_info(sample(), metadata).contains("vig.confidence"));
  for (const char* wrong :
       {"[]", "1", R"({"temperature":0})", R"({"temperature":-1})", R"({"temperature":1e9})",
        R"({"temperature":"1"})", R"({"temperature":null})", R"({"threshold":1.5})",
        R"({"threshold":-0.1})", R"({"other":1})", R"({"threshold":0.1,"threshold":0.1})"}) {
    Metadata changed = metadata;
    changed["vig.confidence"] = wrong;
    EXPECT_NE(
        error_of([&] { read_model_info(changed, "FILE"); }).find("FILE: metadata vig.confidence"),
        std::string::npos)
        << wrong;
  }
  info.confidence.temperature = 0;
  EXPECT_NE(error_of([&] { encode_model_info(info); }).find("temperature"), std::string::npos);
}

TEST(ModelInfo, NumbersAreWrittenShort) {
  ModelInfo info;
  info.arch = "vig_t";
  const Metadata metadata = encode_model_info(info);
  EXPECT_EQ(metadata.at("vig.recipe"),
            R"({"crop":224,"interpolation":"bicubic","mean":[0.485,0.456,0.406],)"
            R"("resize":256,"std":[0.229,0.224,0.225]})");
  EXPECT_EQ(metadata.at("vig.classes"), "[]");
  EXPECT_EQ(metadata.at("vig.overrides"), "{}");
}

// It decides on a warning alone, so that files of other programs are always read.
TEST(ModelInfo, TheSmallestScaleOfTrainingIsReadWhereItIsANumber) {
  const auto scale = [](const std::string& training) {
    return read_smallest_scale({{"vig.training", training}});
  };
  EXPECT_EQ(scale(R"({"epoch":"4","smallest_scale":"0.345"})"), 0.345);
  EXPECT_EQ(scale(R"({"smallest_scale":"1.75"})"), 1.75);
  EXPECT_EQ(read_smallest_scale({{"format", "pt"}}), std::nullopt);
  for (const char* other :
       {"", "none", "[]", "{}", R"("0.5")", R"({"smallest_scale":0.5})", R"({"smallest_scale":""})",
        R"({"smallest_scale":"0"})", R"({"smallest_scale":"-1"})", R"({"smallest_scale":"nan"})",
        R"({"smallest_scale":"inf"})", R"({"smallest_scale":"0.5x"})", R"({"smallest_scale":[]})",
        R"({"smallest_scale":"0.5","smallest_scale":"0.5"})"}) {
    EXPECT_EQ(scale(other), std::nullopt) << other;
  }
}

TEST(ModelInfo, FramingsWithoutACropKeepTheirFields) {
  for (const Framing framing : {Framing::kPad, Framing::kStretch}) {
    ModelInfo info = sample();
    info.recipe.framing = framing;
    info.recipe.resize = 32;  // below the window's side
    info.recipe.longest = 133;
    info.recipe.multiple = 32;
    info.recipe.window_stride = 43;
    const Metadata metadata = encode_model_info(info);
    EXPECT_EQ(read_model_info(metadata, "FILE"), info);
    info.recipe.longest = 31;
    EXPECT_NE(error_of([&] { encode_model_info(info); }).find("expected longest from resize 32"),
              std::string::npos);
  }
}

TEST(ModelInfo, MalformedFramingsAreNamed) {
  const std::string recipe =
      R"({"resize":64,"crop":64,"interpolation":"bilinear","mean":[0,0,0],"std":[1,1,1])";
  const std::pair<std::string, std::string> cases[] = {
      {R"(,"framing":"crop","longest":64,"multiple":1,"window_stride":0})", "framing \"pad\" or"},
      {R"(,"framing":"pad","longest":64,"multiple":1})", "expected \"window_stride\""},
      {R"(,"framing":"pad","longest":63,"multiple":1,"window_stride":0})", "expected longest"},
      {R"(,"framing":"pad","longest":65537,"multiple":1,"window_stride":0})", "expected longest"},
      {R"(,"framing":"pad","longest":64,"multiple":0,"window_stride":0})", "expected multiple"},
      {R"(,"framing":"pad","longest":64,"multiple":1025,"window_stride":0})", "expected multiple"},
      {R"(,"framing":"pad","longest":64,"multiple":1,"window_stride":65})", "window_stride from 0"},
      {R"(,"framing":"pad","longest":64,"multiple":1,"window_stride":-1})", "window_stride from 0"},
      {R"(,"longest":64})", "\"longest\" without \"framing\""},
      {R"(,"multiple":1})", "\"multiple\" without \"framing\""},
      {R"(,"window_stride":0})", "\"window_stride\" without \"framing\""},
      {R"(,"window":64})", "unknown key \"window\""},
  };
  for (const auto& [end, words] : cases) {
    const Metadata metadata = {{"vig.arch", "vig_t"}, {"vig.recipe", recipe + end}};
    const std::string error = error_of([&] { read_model_info(metadata, "FILE"); });
    EXPECT_NE(error.find(words), std::string::npos) << error;
    EXPECT_TRUE(error.starts_with("FILE: metadata vig.recipe")) << error;
  }
}

TEST(ModelInfo, EveryLimitItselfIsAllowed) {
  ModelInfo info = sample();
  info.recipe.resize = info.recipe.crop = 65536;
  EXPECT_EQ(read_model_info(encode_model_info(info), "FILE"), info);
  info.recipe.framing = Framing::kPad;
  info.recipe.longest = info.recipe.window_stride = 65536;
  info.recipe.multiple = 1024;
  EXPECT_EQ(read_model_info(encode_model_info(info), "FILE"), info);
  info.recipe.resize = info.recipe.longest = info.recipe.crop = 1;
  info.recipe.multiple = 1;
  info.recipe.window_stride = 0;
  EXPECT_EQ(read_model_info(encode_model_info(info), "FILE"), info);
}

TEST(ModelInfo, FieldsOfMoreThan64KilobytesAreRefused) {
  const auto read = [](const char* key, size_t bytes, const std::string& start) {
    const std::string text = start + std::string(bytes - start.size() - 2, 'x') + "\"}";
    return read_model_info({{"vig.arch", "vig_t"}, {key, text}}, "FILE");
  };
  EXPECT_EQ(read("vig.overrides", 65536, R"({"a":")")->overrides.at("a").size(), 65528u);
  EXPECT_EQ(
      error_of([&] { read("vig.overrides", 65537, R"({"a":")"); }),
      "FILE: metadata vig.overrides: expected at most 65536 bytes (a fixed limit), found 65537");
  EXPECT_EQ(error_of([&] { read("vig.recipe", 65537, R"({"a":")"); }),
            "FILE: metadata vig.recipe: expected at most 65536 bytes (a fixed limit), found 65537");
}

TEST(ModelInfo, AbsentKeysMeanDefaults) {
  EXPECT_EQ(read_model_info({{"format", "pt"}}, "FILE"), std::nullopt);
  const auto info = read_model_info({{"vig.arch", "vig_s"}}, "FILE");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->recipe, Recipe{});
  EXPECT_TRUE(info->classes.empty());
}

TEST(ModelInfo, OverridesMayBeNumbers) {
  const auto info = read_model_info(
      {{"vig.arch", "vig_s"}, {"vig.overrides", R"({"a":5,"b":true,"c":"x"})"}}, "FILE");
  EXPECT_EQ(info->overrides,
            (std::map<std::string, std::string>{{"a", "5"}, {"b", "true"}, {"c", "x"}}));
}

TEST(ModelInfo, MalformedValuesAreNamed) {
  const std::string rest = R"(,"interpolation":"bicubic","mean":[0,0,0],"std":[1,1,1]})";
  const std::string sizes = R"({"resize":256,"crop":224,"interpolation":"bicubic",)";
  const std::pair<std::string, std::string> cases[] = {
      {"vig.arch", ""},
      {"vig.overrides", "{"},
      {"vig.overrides", "[]"},
      {"vig.overrides", R"({"a":null})"},
      {"vig.overrides", R"({"a":{}})"},
      {"vig.classes", "{}"},
      {"vig.classes", "[1]"},
      {"vig.classes", "\"cat\""},
      {"vig.classes", std::string(50'000, '[')},
      {"vig.classes", std::string(50'000, '[') + std::string(50'000, ']')},
      {"vig.classes", "[\"" + std::string(5'000'000, 'x') + "\"]"},
      {"vig.recipe", ""},
      {"vig.recipe", "[]"},
      {"vig.recipe", "{}"},
      {"vig.recipe", R"({"resize":0,"crop":224)" + rest},
      {"vig.recipe", R"({"resize":65537,"crop":224)" + rest},
      {"vig.recipe", R"({"resize":18446744073709551615,"crop":224)" + rest},
      {"vig.recipe", R"({"resize":256.5,"crop":224)" + rest},
      {"vig.recipe", R"({"resize":"256","crop":224)" + rest},
      {"vig.recipe", R"({"resize":256,"crop":-1)" + rest},
      {"vig.recipe", R"({"resize":224,"crop":256)" + rest},
      {"vig.recipe", R"({"resize":256,"crop":224,"pad":3)" + rest},
      {"vig.recipe", sizes + R"("mean":[0,0],"std":[1,1,1]})"},
      {"vig.recipe", sizes + R"("mean":[0,0,0,0],"std":[1,1,1]})"},
      {"vig.recipe", sizes + R"("mean":[0,0,0],"std":[1,1e300,1]})"},
      {"vig.recipe", sizes + R"("mean":[0,0,"0"],"std":[1,1,1]})"},
      {"vig.recipe", sizes + R"("mean":[0,0,1e300],"std":[1,1,1]})"},
      {"vig.recipe", sizes + R"("mean":[0,0,0],"std":[1,1,0]})"},
      {"vig.recipe", sizes + R"("mean":[0,0,0],"std":[1,-1,1]})"},
      {"vig.recipe", sizes + R"("mean":[0,0,0],"std":[1,1e-300,1]})"},
      {"vig.recipe",
       R"({"resize":9,"crop":8,"interpolation":"cubic","mean":[0,0,0],"std":[1,1,1]})"},
      {"vig.recipe", R"({"resize":9,"crop":8,"interpolation":3,"mean":[0,0,0],"std":[1,1,1]})"},
  };
  for (const auto& [key, value] : cases) {
    Metadata metadata = {{"vig.arch", "vig_t"}};
    metadata[key] = value;
    SCOPED_TRACE(key + " " + value.substr(0, 80));
    const std::string message = error_of([&] { read_model_info(metadata, "FILE"); });
    EXPECT_TRUE(message.starts_with("FILE: metadata " + key)) << message;
    EXPECT_LT(message.size(), 300u);
  }
}

TEST(ModelInfo, WhatCouldNotBeReadIsNotWritten) {
  ModelInfo info = sample();
  info.recipe.std[1] = 0;
  EXPECT_FALSE(survives([&] { encode_model_info(info); }));
  info = sample();
  info.recipe.mean[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(survives([&] { encode_model_info(info); }));
  info = sample();
  info.recipe.crop = 0;
  EXPECT_FALSE(survives([&] { encode_model_info(info); }));
  info = sample();
  info.classes = {"\xff"};
  EXPECT_FALSE(survives([&] { encode_model_info(info); }));
  info = sample();
  info.arch = "";
  EXPECT_FALSE(survives([&] { encode_model_info(info); }));
}

}  // namespace
}  // namespace vig::test
