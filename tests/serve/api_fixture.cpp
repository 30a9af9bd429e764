#include "serve/api_fixture.h"

#include <nlohmann/json.hpp>

#include "pipeline/dense_networks.h"
#include "pipeline/fixtures.h"
#include "serve/json_schema.h"
#include "support/files.h"
#include "vig/serve/openapi.h"

namespace vig::test {
namespace {

using nlohmann::json;

std::shared_ptr<const OpenModel> dense(const std::string& name) {
  const TempDir folder;
  const std::string file = (folder / "model.safetensors").string();
  write_dense_network(name, file,
                      name == "mini_segmenter"
                          ? std::vector<std::string>{"road", "sky", "tree", "car"}
                          : std::vector<std::string>{"cat", "dog", "eel"});
  ModelSource source = dense_source(file);
  source.name = name;
  return std::make_shared<const OpenModel>(std::move(source), vig::RunOptions{.threads = 1});
}

void expect_described(std::string method, const std::string& path, const HttpReply& reply) {
  static const json document = json::parse(openapi_text(ApiOptions().max_size));
  if (!document["paths"].contains(path)) {
    EXPECT_EQ(reply.status, 404) << path;
    return;
  }
  for (char& c : method) c = static_cast<char>(std::tolower(c));
  const json& route = document["paths"][path];
  if (!route.contains(method)) {
    EXPECT_EQ(reply.status, 405) << path;
    return;
  }
  const json& responses = route[method]["responses"];
  const std::string status = std::to_string(reply.status);
  ASSERT_TRUE(responses.contains(status)) << method << path << status << reply.body;
  const json& content = responses[status]["content"];
  const std::string type = reply.header("content-type");
  const std::string media = type.substr(0, type.find(';'));
  ASSERT_TRUE(content.contains(media)) << path << " " << type;
  const json value = media == "application/json" ? json::parse(reply.body) : json(reply.body);
  const auto problems = schema_problems(document, content[media]["schema"], value);
  EXPECT_TRUE(problems.empty()) << path << " " << problems.front() << "\n"
                                << reply.body.substr(0, 500);
}

}  // namespace

std::shared_ptr<const OpenModel> classifier() {
  static const auto model = [] {
    ModelRequest request;
    request.model = golden("vig-mini-silu.pth");
    request.arch = "test_vig";
    ModelSource source = find_source(request);
    source.name = "mini";
    for (int i = 0; i < 10; ++i) source.classes.push_back("class " + std::to_string(i));
    return std::make_shared<const OpenModel>(std::move(source), vig::RunOptions{.threads = 1});
  }();
  return model;
}

std::vector<HostedModel> all_models() {
  static const std::vector<HostedModel> models = {{"pets", classifier()},
                                                  {"streets", dense("mini_segmenter")},
                                                  {"things", dense("mini_detector")}};
  return models;
}

std::span<const uint8_t> image_bytes(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::string photo() { return read_file(image_file("photos/cat_progressive_320x240.jpg")); }

void ApiTest::start(ApiOptions options, std::vector<HostedModel> models) {
  HttpHandlers handlers;
  handlers.refuse = [this](const HttpRequest& head) { return api_->refuse(head); };
  handlers.handle = [this](HttpRequest request, Respond respond) {
    api_->handle(std::move(request), std::move(respond));
  };
  handlers.refused = [this](int status) { api_->refused(status); };
  HttpOptions http;
  http.request_seconds = 600;
  options.wait_seconds = options.wait_seconds == 30 ? 600 : options.wait_seconds;
  served_ = std::make_unique<Served>(http, handlers);
  api_ = std::make_unique<Api>(std::move(models), options, served_->metrics());
}

ApiTest::~ApiTest() {
  if (served_ == nullptr) return;
  served_->server().stop();
  served_->wait();
  api_.reset();
}

HttpReply ApiTest::ask(const std::string& method, const std::string& target,
                       const std::string& body, const std::string& headers) {
  const HttpReply reply = test::ask(served_->port(), request_text(method, target, body, headers));
  expect_described(method, target.substr(0, target.find('?')), reply);
  return reply;
}

HttpReply ApiTest::post(const std::string& target, const std::string& body,
                        const std::string& headers) {
  return ask("POST", target, body, headers);
}

}  // namespace vig::test
