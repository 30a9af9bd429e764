// Routes over real sockets, with miniatures of every task. Every reply is checked against
// /openapi.json.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "serve/served.h"
#include "vig/serve/api.h"

namespace vig::test {

// Ten classes, "class 0" to "class 9"; its own name is "mini".
std::shared_ptr<const OpenModel> classifier();
// "pets", the classifier; "streets", a segmenter; "things", a detector.
std::vector<HostedModel> all_models();

std::span<const uint8_t> image_bytes(const std::string& bytes);
// An image of 320 x 240 pixels as a file.
std::string photo();

class ApiTest : public ::testing::Test {
 protected:
  void start(ApiOptions options = {}, std::vector<HostedModel> models = all_models());
  ~ApiTest() override;

  // The reply, which must be what /openapi.json says of its route and status.
  HttpReply ask(const std::string& method, const std::string& target, const std::string& body = "",
                const std::string& headers = "");
  HttpReply post(const std::string& target, const std::string& body = photo(),
                 const std::string& headers = "Content-Type: image/jpeg\r\n");

  std::unique_ptr<Api> api_;
  std::unique_ptr<Served> served_;
};

}  // namespace vig::test
