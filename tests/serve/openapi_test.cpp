// Which options /openapi.json lists. That replies are what it says is checked wherever a test asks.
#include "vig/serve/openapi.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace vig {
namespace {

using nlohmann::json;

TEST(OpenApi, ListsTheOptionsOfEveryTask) {
  const json paths = json::parse(openapi_text(77))["paths"];
  const std::map<std::string, std::set<std::string>> expected = {
      {"/v1/classify", {"model", "top", "threshold", "size"}},
      {"/v1/embed", {"model", "map", "size"}},
      {"/v1/explain", {"model", "class", "against", "x", "y", "layer", "head", "size", "draw"}},
      {"/v1/segment", {"model", "draw"}},
      {"/v1/detect", {"model", "score", "draw", "labels"}}};
  for (const auto& [path, names] : expected) {
    std::set<std::string> listed;
    for (const json& option : paths.at(path)["post"]["parameters"]) {
      EXPECT_TRUE(listed.insert(option["name"]).second) << option;
      EXPECT_EQ(option["in"], "query");
      if (option["name"] == "size") {
        EXPECT_EQ(option["schema"], json({{"type", "integer"}, {"minimum", 1}, {"maximum", 77}}));
      }
    }
    EXPECT_EQ(listed, names) << path;
    std::set<std::string> bodies;
    for (const auto& [type, body] : paths.at(path)["post"]["requestBody"]["content"].items()) {
      bodies.insert(type);
    }
    EXPECT_EQ(bodies, (std::set<std::string>{"image/*", "application/octet-stream",
                                             "multipart/form-data", "application/json"}));
  }
}

TEST(OpenApi, SaysWhichRoutesNeedTheToken) {
  const json paths = json::parse(openapi_text(77))["paths"];
  for (const auto& [path, route] : paths.items()) {
    const bool open = path == "/" || path == "/health" || path == "/ready";
    const json& responses = route[route.contains("get") ? "get" : "post"]["responses"];
    EXPECT_EQ(responses.contains("401"), !open) << path;
  }
}

}  // namespace
}  // namespace vig
