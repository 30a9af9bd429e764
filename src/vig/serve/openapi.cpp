#include "vig/serve/openapi.h"

#include <nlohmann/json.hpp>

namespace vig {
namespace {

using nlohmann::ordered_json;

ordered_json schema(const char* name) {
  return {{"$ref", std::string("#/components/schemas/") + name}};
}

ordered_json content(const ordered_json& body, const char* type = "application/json") {
  return {{type, {{"schema", body}}}};
}

constexpr const char* kStranger =
    "The host, or the page that asks, is not of this machine, as a local server expects.";

ordered_json error_answer(const char* description) {
  return {{"description", description}, {"content", content(schema("Error"))}};
}

ordered_json option(const char* name, const ordered_json& type, const char* description) {
  return {{"name", name}, {"in", "query"}, {"description", description}, {"schema", type}};
}

ordered_json whole(int least, int most) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}

ordered_json share() { return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}}; }

ordered_json boolean() { return {{"type", "boolean"}}; }

ordered_json text() { return {{"type", "string"}}; }

ordered_json object(const ordered_json& properties, const std::vector<std::string>& required) {
  return {{"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

ordered_json list_of(const ordered_json& item) { return {{"type", "array"}, {"items", item}}; }

ordered_json numbers() { return list_of({{"type", "number"}}); }

// What every task takes: a picture in one of three forms.
ordered_json picture_body() {
  const ordered_json binary = {{"type", "string"}, {"format", "binary"}};
  const ordered_json json_body = {
      {"type", "object"},
      {"properties",
       {{"picture", {{"type", "string"}, {"format", "byte"}}},
        {"pictures", list_of({{"type", "string"}, {"format", "byte"}})}}},
      {"additionalProperties", true},
      {"description", "One picture or several in base64, and the options of the query."}};
  const ordered_json form = {
      {"type", "object"}, {"properties", {{"picture", binary}}}, {"additionalProperties", true}};
  return {{"required", true},
          {"content",
           {{"image/*", {{"schema", binary}}},
            {"application/octet-stream", {{"schema", binary}}},
            {"multipart/form-data", {{"schema", form}}},
            {"application/json", {{"schema", json_body}}}}}};
}

ordered_json task_route(const char* summary, const char* answer, ordered_json options) {
  options.insert(options.begin(),
                 option("model", text(), "Name of the model; the first of the task if not given."));
  const ordered_json good =
      object({{"model", text()}, {"results", list_of(schema(answer))}}, {"model", "results"});
  return {
      {"post",
       {{"summary", summary},
        {"parameters", options},
        {"requestBody", picture_body()},
        {"responses",
         {{"200",
           {{"description", "An answer for each picture, in order."}, {"content", content(good)}}},
          {"400", error_answer("The request asks for what is not there.")},
          {"401", error_answer("The token is missing or wrong.")},
          {"403", error_answer(kStranger)},
          {"404", error_answer("There is no such model.")},
          {"413", error_answer("The body is too large, has too many pictures, or too many pixels "
                               "to draw on; or the response would be too large.")},
          {"415", error_answer("The content type is none of those above.")},
          {"431", error_answer("The header is too large.")},
          {"422",
           {{"description", "No picture could be answered."},
            {"content", content({{"oneOf", {good, schema("Error")}}})}}},
          {"500", error_answer("A mistake of the server.")},
          {"503", error_answer("Too much waits; try again after Retry-After seconds.")}}}}}};
}

// A route that everybody may ask, or only who shows the token.
enum class Asked { kByAll, kByToken };

ordered_json get_route(const char* summary, const ordered_json& answer,
                       Asked asked = Asked::kByToken) {
  ordered_json responses = {{"200", {{"description", summary}, {"content", answer}}}};
  if (asked == Asked::kByToken) {
    responses["401"] = error_answer("The token is missing or wrong.");
  }
  responses["403"] = error_answer(kStranger);
  return {{"get", {{"summary", summary}, {"responses", responses}}}};
}

// A result is an answer, or says why there is none.
ordered_json or_error(const ordered_json& good) {
  return {{"oneOf", {good, object({{"file", text()}, {"error", text()}}, {"file", "error"})}}};
}

ordered_json schemas() {
  const ordered_json score = object({{"index", whole(0, 1 << 20)},
                                     {"name", text()},
                                     {"probability", {{"type", "number"}}},
                                     {"logit", {{"type", "number"}}}},
                                    {"index", "probability", "logit"});
  const ordered_json area = object({{"index", whole(0, 255)},
                                    {"name", text()},
                                    {"pixels", {{"type", "integer"}}},
                                    {"share", {{"type", "number"}}}},
                                   {"index", "pixels", "share"});
  const ordered_json mask =
      object({{"size", list_of({{"type", "integer"}})}, {"counts", text()}}, {"size", "counts"});
  const ordered_json detection =
      object({{"image_id", {{"type", "integer"}}},
              {"category_id", {{"type", "integer"}}},
              {"category_name", text()},
              {"bbox", numbers()},
              {"score", {{"type", "number"}}},
              {"segmentation", mask},
              {"file_name", text()}},
             {"image_id", "category_id", "bbox", "score", "segmentation", "file_name"});
  const ordered_json shape = list_of({{"type", "integer"}});
  ordered_json all;
  all["Error"] = object(
      {{"error", object({{"kind", text()}, {"message", text()}}, {"kind", "message"})}}, {"error"});
  all["Classification"] =
      or_error(object({{"file", text()}, {"none_of_them", boolean()}, {"classes", list_of(score)}},
                      {"file", "classes"}));
  all["Embedding"] = or_error(object({{"file", text()}, {"shape", shape}, {"values", numbers()}},
                                     {"file", "shape", "values"}));
  all["Explanation"] = or_error(object({{"file", text()},
                                        {"picture", text()},
                                        {"class", score},
                                        {"against", score},
                                        {"layer", {{"type", "integer"}}},
                                        {"head", {{"type", "integer"}}},
                                        {"row", {{"type", "integer"}}},
                                        {"column", {{"type", "integer"}}},
                                        {"shape", shape},
                                        {"values", numbers()}},
                                       {"file", "shape", "values"}));
  all["Segmentation"] = or_error(object({{"file", text()},
                                         {"width", {{"type", "integer"}}},
                                         {"height", {{"type", "integer"}}},
                                         {"labels", text()},
                                         {"overlay", text()},
                                         {"classes", list_of(area)}},
                                        {"file", "width", "height", "labels", "classes"}));
  all["Detections"] = or_error(object({{"file", text()},
                                       {"width", {{"type", "integer"}}},
                                       {"height", {{"type", "integer"}}},
                                       {"overlay", text()},
                                       {"detections", list_of(detection)}},
                                      {"file", "width", "height", "detections"}));
  all["Model"] =
      object({{"name", text()},
              {"task", {{"type", "string"}, {"enum", {"classify", "segment", "detect"}}}},
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

ordered_json document(int max_size) {
  const ordered_json size =
      option("size", whole(1, max_size), "Side of the network's input in pixels.");
  const ordered_json drawn =
      option("draw", boolean(), "Also give the answer drawn over the picture.");
  const ordered_json status =
      object({{"status", {{"type", "string"}, {"enum", {"ok"}}}}}, {"status"});
  ordered_json paths;
  paths["/v1/classify"] = task_route(
      "The most probable classes of pictures", "Classification",
      {option("top", whole(1, 1 << 20), "How many classes."),
       option("threshold", share(), "Below this probability it is none of them."), size});
  paths["/v1/embed"] =
      task_route("Vectors of pictures", "Embedding",
                 {option("map", boolean(), "A vector for each cell of the last grid."), size});
  paths["/v1/explain"] = task_route(
      "Why: the evidence for a class, or with x and y the attention of a place", "Explanation",
      {option("class", text(), "Class by name or number; the most probable one if not given."),
       option("against", text(), "Another class."),
       option("x", share(), "Across, in parts of what the network sees."),
       option("y", share(), "Down, likewise."),
       option("layer", whole(0, 1 << 20), "From 0; the last one if not given."),
       option("head", whole(0, 1 << 20), "From 0; the mean of all if not given."), size, drawn});
  paths["/v1/segment"] = task_route("A class for every pixel", "Segmentation", {drawn});
  paths["/v1/detect"] = task_route(
      "Objects with boxes and masks", "Detections",
      {option("score", share(), "Objects whose score is not above this are left out."), drawn});
  paths["/v1/models"] =
      get_route("The models of this server",
                content(object({{"models", list_of(schema("Model"))}}, {"models"})));
  paths["/health"] = get_route("The process runs", content(status), Asked::kByAll);
  paths["/ready"] = get_route("Requests are answered", content(status), Asked::kByAll);
  paths["/ready"]["get"]["responses"]["503"] = error_answer("Too much waits, or the server ends.");
  paths["/openapi.json"] = get_route("This document", content({{"type", "object"}}));
  paths["/"] = get_route("A page to try the models", content(text(), "text/html"), Asked::kByAll);
  paths["/metrics"] = get_route("Counters for Prometheus", content(text(), "text/plain"));
  return {{"openapi", "3.0.3"},
          {"info", {{"title", "vig"}, {"version", "1"}}},
          {"paths", paths},
          {"components",
           {{"schemas", schemas()},
            {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
          {"security",
           ordered_json::array({ordered_json::object(), {{"token", ordered_json::array()}}})}};
}

}  // namespace

std::string openapi_text(int max_size) { return document(max_size).dump(1) + "\n"; }

}  // namespace vig
