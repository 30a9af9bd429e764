#include "vig/serve/task_options.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "vig/base/printable.h"
#include "vig/serve/http_error.h"

namespace vig {
namespace {

template <typename Number>
Number take_number(GivenOptions& given, const std::string& name, Number otherwise, Number least,
                   Number most, std::string_view raised_with = "") {
  const auto found = given.find(name);
  if (found == given.end()) return otherwise;
  const std::string value = take_option(given, name);
  Number result{};
  const char* const end = value.data() + value.size();
  const auto [last, error] = std::from_chars(value.data(), end, result);
  if (error != std::errc() || last != end || !(result >= least && result <= most)) {
    bad_request("option {} is {}, expected a number from {} to {}{}", name, printable(value, 40),
                least, most, raised_with);
  }
  return result;
}

bool take_flag(GivenOptions& given, const std::string& name) {
  const std::string value = take_option(given, name);
  if (value.empty() || value == "0" || value == "false") return false;
  if (value == "1" || value == "true") return true;
  bad_request("option {} is {}, expected true or false", name, printable(value, 40));
}

LabelText take_label_text(GivenOptions& given) {
  const std::string word = take_option(given, "labels");
  if (word.empty()) return LabelText::kAuto;
  const std::optional<LabelText> text = parse_label_text(word);
  if (!text) {
    bad_request("option labels is {}, expected auto, none, short or full", printable(word, 40));
  }
  return *text;
}

int take_class(GivenOptions& given, const std::string& name, const OpenModel& model) {
  const std::string text = take_option(given, name);
  if (text.empty()) return -1;
  const auto& names = model.classes();
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  int number = -1;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && last == end && number >= 0 && number < model.class_count()) {
    return number;
  }
  bad_request("option {}: {} is none of the {} classes", name, printable(text, 60),
              model.class_count());
}

}  // namespace

GivenOptions merged_options(GivenOptions query, const GivenOptions& body) {
  for (const auto& [name, value] : body) {
    if (!query.emplace(name, value).second) {
      bad_request("option {} is given twice", printable(name, 40));
    }
  }
  return query;
}

std::string take_option(GivenOptions& given, const std::string& name) {
  const auto found = given.find(name);
  if (found == given.end()) return "";
  std::string value = std::move(found->second);
  given.erase(found);
  return value;
}

PredictRequest read_predict_request(PredictKind kind, GivenOptions given, const OpenModel& model,
                                    int max_size) {
  constexpr int kMany = 1 << 20;
  PredictRequest request;
  request.kind = kind;
  const auto take_size = [&] {
    return take_number(given, "size", 0, 1, max_size, " (raise the limit with --max-size)");
  };
  switch (kind) {
    case PredictKind::kClassify:
      request.top = take_number(given, "top", 5, 1, kMany);
      request.threshold =
          take_number(given, "threshold", model.source().confidence.threshold, 0.0, 1.0);
      request.size = take_size();
      break;
    case PredictKind::kEmbed:
      request.map = take_flag(given, "map");
      request.size = take_size();
      break;
    case PredictKind::kExplain:
      request.evidence.about = take_class(given, "class", model);
      request.evidence.against = take_class(given, "against", model);
      request.attention.x = take_number(given, "x", -1.0, 0.0, 1.0);
      request.attention.y = take_number(given, "y", -1.0, 0.0, 1.0);
      request.attention.layer = take_number(given, "layer", -1, 0, kMany);
      request.attention.head = take_number(given, "head", -1, 0, kMany);
      request.size = take_size();
      request.draw = take_flag(given, "draw");
      if ((request.attention.x < 0) != (request.attention.y < 0)) {
        bad_request("x and y name a position together");
      }
      if (request.attention.x < 0 &&
          (request.attention.layer >= 0 || request.attention.head >= 0)) {
        bad_request("layer and head belong to the attention of a position: give x and y");
      }
      if (request.attention.x >= 0 &&
          (request.evidence.about >= 0 || request.evidence.against >= 0)) {
        bad_request("class and against are for evidence, x and y for attention: give one of them");
      }
      break;
    case PredictKind::kDetect:
      request.score = take_number(given, "score", kShownScore, 0.0, 1.0);
      request.labels = take_label_text(given);
      [[fallthrough]];
    case PredictKind::kSegment:
      request.draw = take_flag(given, "draw");
      break;
  }
  if (!given.empty()) {
    bad_request("there is no option {} here", printable(given.begin()->first, 40));
  }
  return request;
}

}  // namespace vig
