#include "vig/serve/openapi.h"

#include <string>
#include <vector>

#include "vig/base/json.h"

namespace vig {
namespace {

Json schema(const char* name) { return {{"$ref", std::string("#/components/schemas/") + name}}; }

Json content(const Json& body, const char* type = "application/json") {
  return {{type, {{"schema", body}}}};
}

constexpr const char* kForeignHost =
    "The host or the origin is not this machine, as a local server expects.";

Json error_entry(const char* description) {
  return {{"description", description}, {"content", content(schema("Error"))}};
}

Json option(const char* name, const Json& type, const char* description) {
  return {{"name", name}, {"in", "query"}, {"description", description}, {"schema", type}};
}

Json whole(int least, int most) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}

Json share() { return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}}; }

Json boolean() { return {{"type", "boolean"}}; }

Json text() { return {{"type", "string"}}; }

Json object(const Json& properties, const std::vector<std::string>& required) {
  return {{"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

Json list_of(const Json& item) { return {{"type", "array"}, {"items", item}}; }

Json number_list() { return list_of({{"type", "number"}}); }

// What every task takes: an image in one of three forms.
Json image_body() {
  const Json binary = {{"type", "string"}, {"format", "binary"}};
  const Json json_body = {
      {"type", "object"},
      {"properties",
       {{"image", {{"type", "string"}, {"format", "byte"}}},
        {"images", list_of({{"type", "string"}, {"format", "byte"}})}}},
      {"additionalProperties", true},
      {"description", "One image or several in base64, and the options of the query."}};
  const Json form = {
      {"type", "object"}, {"properties", {{"image", binary}}}, {"additionalProperties", true}};
  return {{"required", true},
          {"content",
           {{"image/*", {{"schema", binary}}},
            {"application/octet-stream", {{"schema", binary}}},
            {"multipart/form-data", {{"schema", form}}},
            {"application/json", {{"schema", json_body}}}}}};
}

Json task_route(const char* summary, const char* result, std::initializer_list<Json> options) {
  Json parameters = Json::array(
      {option("model", text(), "Name of the model; the first of the task if not given.")});
  for (const Json& one : options) parameters.push_back(one);
  const Json good =
      object({{"model", text()}, {"results", list_of(schema(result))}}, {"model", "results"});
  return {
      {"post",
       {{"summary", summary},
        {"parameters", parameters},
        {"requestBody", image_body()},
        {"responses",
         {{"200",
           {{"description", "A result for each image, in order."}, {"content", content(good)}}},
          {"400", error_entry("The request names an unknown option or value.")},
          {"401", error_entry("The token is missing or wrong.")},
          {"403", error_entry(kForeignHost)},
          {"404", error_entry("There is no such model.")},
          {"413", error_entry("The body is too large, has too many images, or too many pixels "
                              "to draw on; or the response would be too large.")},
          {"415", error_entry("The content type is none of those above.")},
          {"431", error_entry("The header is too large.")},
          {"422",
           {{"description", "No image has a result."},
            {"content", content({{"oneOf", Json::array({good, schema("Error")})}})}}},
          {"500", error_entry("An error of the server.")},
          {"503", error_entry("Too many requests wait; try again after Retry-After seconds.")}}}}}};
}

// A public route, or one that needs the token.
enum class Asked { kByAll, kByToken };

Json get_route(const char* summary, const Json& result, Asked asked = Asked::kByToken) {
  Json responses = {{"200", {{"description", summary}, {"content", result}}}};
  if (asked == Asked::kByToken) {
    responses["401"] = error_entry("The token is missing or wrong.");
  }
  responses["403"] = error_entry(kForeignHost);
  return {{"get", {{"summary", summary}, {"responses", responses}}}};
}

// A result, or the reason why there is none.
Json or_error(const Json& good) {
  return {{"oneOf",
           Json::array({good, object({{"file", text()}, {"error", text()}}, {"file", "error"})})}};
}

Json schemas() {
  const Json score = object({{"index", whole(0, 1 << 20)},
                             {"name", text()},
                             {"probability", {{"type", "number"}}},
                             {"logit", {{"type", "number"}}}},
                            {"index", "probability", "logit"});
  const Json area = object({{"index", whole(0, 255)},
                            {"name", text()},
                            {"pixels", {{"type", "integer"}}},
                            {"share", {{"type", "number"}}}},
                           {"index", "pixels", "share"});
  const Json mask =
      object({{"size", list_of({{"type", "integer"}})}, {"counts", text()}}, {"size", "counts"});
  const Json detection =
      object({{"image_id", {{"type", "integer"}}},
              {"category_id", {{"type", "integer"}}},
              {"category_name", text()},
              {"bbox", number_list()},
              {"score", {{"type", "number"}}},
              {"segmentation", mask},
              {"file_name", text()}},
             {"image_id", "category_id", "bbox", "score", "segmentation", "file_name"});
  const Json warnings = list_of(
      object({{"kind", {{"type", "string"}, {"enum", Json::array({"shrunk", "most_objects"})}}},
              {"message", text()}},
             {"kind", "message"}));
  const Json shape = list_of({{"type", "integer"}});
  Json all;
  all["Error"] = object(
      {{"error", object({{"kind", text()}, {"message", text()}}, {"kind", "message"})}}, {"error"});
  all["Classification"] =
      or_error(object({{"file", text()}, {"none_of_them", boolean()}, {"classes", list_of(score)}},
                      {"file", "classes"}));
  all["Embedding"] =
      or_error(object({{"file", text()}, {"shape", shape}, {"values", number_list()}},
                      {"file", "shape", "values"}));
  all["Explanation"] = or_error(object({{"file", text()},
                                        {"image", text()},
                                        {"class", score},
                                        {"against", score},
                                        {"layer", {{"type", "integer"}}},
                                        {"head", {{"type", "integer"}}},
                                        {"row", {{"type", "integer"}}},
                                        {"column", {{"type", "integer"}}},
                                        {"shape", shape},
                                        {"values", number_list()}},
                                       {"file", "shape", "values"}));
  all["Segmentation"] = or_error(object({{"file", text()},
                                         {"width", {{"type", "integer"}}},
                                         {"height", {{"type", "integer"}}},
                                         {"labels", text()},
                                         {"overlay", text()},
                                         {"warnings", warnings},
                                         {"classes", list_of(area)}},
                                        {"file", "width", "height", "labels", "classes"}));
  all["Detections"] = or_error(object({{"file", text()},
                                       {"width", {{"type", "integer"}}},
                                       {"height", {{"type", "integer"}}},
                                       {"overlay", text()},
                                       {"warnings", warnings},
                                       {"detections", list_of(detection)}},
                                      {"file", "width", "height", "detections"}));
  all["Model"] = object(
      {{"name", text()},
       {"task", {{"type", "string"}, {"enum", Json::array({"classify", "segment", "detect"})}}},
       {"arch", text()},
       {"classes", list_of(text())},
       {"class_count", {{"type", "integer"}}},
       {"size", {{"type", "integer"}}},
       {"max_size", {{"type", "integer"}}},
       {"seen", {{"type", "number"}}},
       {"colors", list_of(text())}},
      {"name", "task", "arch", "classes", "class_count", "size", "max_size"});
  return all;
}

Json document(int max_size) {
  const Json size = option("size", whole(1, max_size), "Side of the network's input in pixels.");
  const Json drawn = option("draw", boolean(), "Also return the prediction drawn over the image.");
  const Json status =
      object({{"status", {{"type", "string"}, {"enum", Json::array({"ok"})}}}}, {"status"});
  Json paths;
  paths["/v1/classify"] = task_route(
      "The most probable classes of images", "Classification",
      {option("top", whole(1, 1 << 20), "How many classes."),
       option("threshold", share(), "Below this probability it is none of them."), size});
  paths["/v1/embed"] =
      task_route("Vectors of images", "Embedding",
                 {option("map", boolean(), "A vector for each cell of the last grid."), size});
  paths["/v1/explain"] = task_route(
      "Why: the evidence for a class, or with x and y the attention of a position", "Explanation",
      {option("class", text(), "Class by name or number; the most probable one if not given."),
       option("against", text(), "Another class."),
       option("x", share(), "Across, in parts of what the network sees."),
       option("y", share(), "Down, likewise."),
       option("layer", whole(0, 1 << 20), "From 0; the last one if not given."),
       option("head", whole(0, 1 << 20), "From 0; the mean of all if not given."), size, drawn});
  paths["/v1/segment"] = task_route("A class for every pixel", "Segmentation", {drawn});
  paths["/v1/detect"] = task_route(
      "Objects with boxes and masks", "Detections",
      {option("score", share(), "Objects whose score is not above this are left out."), drawn,
       option("labels",
              {{"type", "string"}, {"enum", Json::array({"auto", "none", "short", "full"})}},
              "What is written beside drawn objects.")});
  paths["/v1/models"] =
      get_route("The models of this server",
                content(object({{"models", list_of(schema("Model"))}}, {"models"})));
  paths["/health"] = get_route("The process runs", content(status), Asked::kByAll);
  paths["/ready"] = get_route("Requests are accepted", content(status), Asked::kByAll);
  paths["/ready"]["get"]["responses"]["503"] =
      error_entry("Too many requests wait, or the server ends.");
  paths["/openapi.json"] = get_route("This document", content({{"type", "object"}}));
  paths["/"] = get_route("A page to try the models", content(text(), "text/html"), Asked::kByAll);
  paths["/metrics"] = get_route("Counters for Prometheus", content(text(), "text/plain"));
  return {{"openapi", "3.0.3"},
          {"info", {{"title", "vig"}, {"version", "1"}}},
          {"paths", paths},
          {"components",
           {{"schemas", schemas()},
            {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
          {"security", Json::array({Json::object(), {{"token", Json::array()}}})}};
}

}  // namespace

std::string openapi_text(int max_size) { return document(max_size).dump(1) + "\n"; }

}  // namespace vig
