#include "vig/models/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "vig/base/error.h"
#include "vig/base/suggestion.h"

namespace vig {
namespace {

constexpr int kMaxFieldValue = 1 << 20;

[[noreturn]] void bad_value(std::string_view field, std::string_view text,
                            std::string_view expected) {
  fail_usage("field {} is '{}', expected {}", field, text, expected);
}

int parse_int(std::string_view field, std::string_view text, int least = 1) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least ||
      value > kMaxFieldValue) {
    bad_value(field, text, fmt::format("a whole number from {} to {}", least, kMaxFieldValue));
  }
  return value;
}

float parse_float(std::string_view field, std::string_view text, bool above_zero) {
  constexpr float kMost = 64;
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size();
  if (!number || !((above_zero ? value > 0 : value >= 0) && value <= kMost)) {
    bad_value(field, text,
              fmt::format("a number {} {}", above_zero ? "above 0 up to" : "from 0 to", kMost));
  }
  return value;
}

// Sets one field from a text.
class Setter final : public FieldVisitor {
 public:
  Setter(std::string_view field, std::string_view text) : field_(field), text_(text) {}

  void visit(const char* name, int& value, int least) override {
    if (is(name)) value = parse_int(field_, text_, least);
  }
  void visit(const char* name, float& value) override {
    if (is(name)) value = parse_float(field_, text_, false);
  }
  void visit(const char* name, bool& value) override {
    if (!is(name)) return;
    if (text_ != "true" && text_ != "false") bad_value(field_, text_, "true or false");
    value = text_ == "true";
  }
  void visit(const char* name, std::vector<int>& value, int least) override {
    if (!is(name)) return;
    value.clear();
    for_each_part([&](std::string_view part) { value.push_back(parse_int(field_, part, least)); });
  }
  void visit(const char* name, std::vector<float>& value, size_t least, size_t most) override {
    if (!is(name)) return;
    value.clear();
    for_each_part([&](std::string_view part) { value.push_back(parse_float(field_, part, true)); });
    if (value.size() >= least && value.size() <= most) return;
    bad_value(field_, text_,
              least == most ? fmt::format("{} numbers", least)
                            : fmt::format("from {} to {} numbers", least, most));
  }
  void visit(const char* name, std::vector<int>& indices,
             std::span<const std::string_view> names) override {
    if (!is(name)) return;
    indices.clear();
    for_each_part([&](std::string_view part) { indices.push_back(index_of(part, names)); });
  }
  void visit(const char* name, int& index, std::span<const std::string_view> names) override {
    if (is(name)) index = index_of(text_, names);
  }

  bool found() const { return found_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  bool is(const char* name) {
    names_.emplace_back(name);
    if (field_ != name) return false;
    found_ = true;
    return true;
  }

  template <class F>
  void for_each_part(const F& f) const {
    for (size_t start = 0; start <= text_.size();) {
      const size_t comma = std::min(text_.find(',', start), text_.size());
      f(text_.substr(start, comma - start));
      start = comma + 1;
    }
  }
  int index_of(std::string_view text, std::span<const std::string_view> names) const {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      const auto last = names.subspan(names.size() - 1);
      bad_value(field_, text,
                fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), last[0]));
    }
    return static_cast<int>(found - names.begin());
  }

  std::string_view field_, text_;
  std::vector<std::string> names_;
  bool found_ = false;
};

class Texts final : public FieldVisitor {
 public:
  void visit(const char* name, int& value, int) override { texts[name] = fmt::format("{}", value); }
  void visit(const char* name, float& value) override { texts[name] = fmt::format("{}", value); }
  void visit(const char* name, bool& value) override { texts[name] = value ? "true" : "false"; }
  void visit(const char* name, std::vector<int>& value, int) override {
    texts[name] = fmt::format("{}", fmt::join(value, ","));
  }
  void visit(const char* name, std::vector<float>& value, size_t, size_t) override {
    texts[name] = fmt::format("{}", fmt::join(value, ","));
  }
  void visit(const char* name, std::vector<int>& indices,
             std::span<const std::string_view> names) override {
    std::vector<std::string_view> parts;
    for (const int index : indices) parts.push_back(names[static_cast<size_t>(index)]);
    texts[name] = fmt::format("{}", fmt::join(parts, ","));
  }
  void visit(const char* name, int& index, std::span<const std::string_view> names) override {
    texts[name] = std::string(names[static_cast<size_t>(index)]);
  }

  std::map<std::string, std::string> texts;
};

}  // namespace

std::map<std::string, std::string> classes_shown_by(const TensorShapes& shapes,
                                                    const std::string& head_weight) {
  const Shape* head = shapes(head_weight);
  if (head == nullptr || head->rank() != 2) return {};
  return {{"classes", fmt::format("{}", (*head)[0])}};
}

std::map<std::string, std::string> image_size_shown_by(int64_t cells, int patch_size, int stride) {
  // Far above any grid, far below what its square root and products cannot hold: an empty tensor
  // may claim any size.
  constexpr int64_t kMaxCells = int64_t{1} << 32;
  if (cells < 1 || cells > kMaxCells) return {};
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(cells))));
  if (side * side != cells) return {};
  const int64_t apart = stride > 0 ? stride : patch_size;
  return {{"image_size", fmt::format("{}", (side - 1) * apart + patch_size)}};
}

std::map<std::string, std::string> image_size_shown_by(const TensorShapes& shapes,
                                                       const std::string& table, int extra,
                                                       int patch_size, int stride) {
  const Shape* shape = shapes(table);
  if (shape == nullptr || shape->rank() != 3) return {};
  return image_size_shown_by((*shape)[1] - extra, patch_size, stride);
}

void set_field(ModelConfig& config, std::string_view model, const std::string& name,
               const std::string& text) {
  Setter setter(name, text);
  config.visit_fields(setter);
  if (setter.found()) return;
  fail_usage("model {} has no field '{}'{}; its fields are {}", model, name,
             suggestion(name, setter.names()), fmt::join(setter.names(), ", "));
}

std::map<std::string, std::string> field_texts(const ModelConfig& config) {
  Texts texts;
  config.clone()->visit_fields(texts);  // visiting may change fields; this one does not
  return std::move(texts.texts);
}

}  // namespace vig
