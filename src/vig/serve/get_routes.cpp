#include "vig/serve/get_routes.h"

#include <fmt/format.h>

#include <random>

#include "vig/base/json.h"
#include "vig/base/recipe.h"
#include "vig/pipeline/json_text.h"
#include "vig/serve/page.h"
#include "vig/tasks/class_colors.h"

namespace vig {
namespace {

Json model_entry(const HostedModel& hosted, int max_size) {
  const OpenModel& model = *hosted.model;
  const Recipe& recipe = model.source().spec.recipe;
  Json entry = {{"name", hosted.name},
                {"task", task_name(model.task())},
                {"arch", model.source().spec.name},
                {"classes", model.classes()},
                {"class_count", model.class_count()},
                {"size", recipe.crop},
                {"max_size", max_size}};
  if (recipe.framing == Framing::kCrop) {
    entry["seen"] =
        short_number(static_cast<float>(recipe.crop) / static_cast<float>(recipe.resize));
  }
  if (model.task() != ModelTask::kClassify) {
    for (const Color& color :
         class_palette(static_cast<size_t>(model.class_count()), model.classes())) {
      entry["colors"].push_back(fmt::format("#{:02x}{:02x}{:02x}", color[0], color[1], color[2]));
    }
  }
  return entry;
}

}  // namespace

const char* task_name(ModelTask task) {
  switch (task) {
    case ModelTask::kClassify:
      return "classify";
    case ModelTask::kSegment:
      return "segment";
    case ModelTask::kDetect:
      return "detect";
  }
  return "";
}

std::string model_list(std::span<const HostedModel> models, int max_size) {
  Json list = Json::array();
  for (const HostedModel& one : models) list.push_back(model_entry(one, max_size));
  return json_text({{"models", list}}) + "\n";
}

HttpResponse page_response() {
  std::random_device random;
  const std::string nonce =
      fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  HttpResponse response;
  response.content_type = "text/html; charset=utf-8";
  response.policy = fmt::format(
      "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; img-src data: blob:; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      nonce);
  response.body = page_text();
  const std::string mark = "NONCE";
  for (size_t at = 0; (at = response.body.find(mark, at)) != std::string::npos;) {
    response.body.replace(at, mark.size(), nonce);
  }
  return response;
}

}  // namespace vig
