// The hyperparameters of a family's networks, with their names.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/shape.h"
#include "vig/graph/graph.h"
#include "vig/models/detector_config.h"
#include "vig/models/registry.h"

namespace vig {

// Sees the fields of a config, each once.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  // A whole number from `least` on.
  virtual void visit(const char* name, int& value, int least = 1) = 0;
  virtual void visit(const char* name, float& value) = 0;
  virtual void visit(const char* name, bool& value) = 0;
  // Whole numbers from `least` on, one or more.
  virtual void visit(const char* name, std::vector<int>& value, int least = 1) = 0;
  // From `least` to `most` numbers above 0.
  virtual void visit(const char* name, std::vector<float>& value, size_t least, size_t most) = 0;
  // A list of `names`, by their indices.
  virtual void visit(const char* name, std::vector<int>& indices,
                     std::span<const std::string_view> names) = 0;
  // One of `names`, by its index.
  virtual void visit(const char* name, int& index, std::span<const std::string_view> names) = 0;

  template <class Enum>
  void visit(const char* name, Enum& value,
             std::span<const std::string_view> names) requires std::is_enum_v<Enum> {
    int index = static_cast<int>(value);
    visit(name, index, names);
    value = static_cast<Enum>(index);
  }
  // As many numbers above 0 as the array has.
  template <size_t kCount>
  void visit(const char* name, std::array<float, kCount>& value) {
    std::vector<float> list(value.begin(), value.end());
    visit(name, list, kCount, kCount);
    std::copy_n(list.begin(), kCount, value.begin());
  }
};

// The shape of a checkpoint's tensor by its name; null when it has none of that name.
using TensorShapes = std::function<const Shape*(const std::string& name)>;

// What every family's config has. A family adds its own fields, see models/vig.cpp.
struct ModelConfig {
  int classes = 1000;
  int image_size = 224;    // what the weights were made for; any size runs
  float drop_path = 0.0f;  // training only: stochastic depth of the last block

  virtual ~ModelConfig() = default;
  virtual std::unique_ptr<ModelConfig> clone() const = 0;
  virtual void visit_fields(FieldVisitor& visitor) = 0;
  // How many blocks it would have, asked before anything is built.
  virtual int64_t blocks() const = 0;
  // The graph that sees the image.
  virtual Graph build(int height, int width) const = 0;
  virtual ModelTask task() const { return ModelTask::kClassify; }
  // The config of the code between a detector's graphs; null for other tasks.
  virtual const DetectorConfig* detector() const { return nullptr; }
  // Whether it refuses images of another size than it was made for.
  virtual bool fixed_size() const { return false; }
  // Further graphs of the model, with inputs of their own: what plain code calls after the first or
  // between others, such as a head for every box. Parameters of one name are one parameter.
  virtual std::vector<Graph> further_graphs() const { return {}; }
  // The fields that the tensors of a checkpoint show by themselves and in which published models
  // of one variant differ, such as the number of classes.
  virtual std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const = 0;
  // Whether a tensor of this name belongs to a layer that the fields leave out.
  virtual bool leaves_out(std::string_view) const { return false; }

 protected:
  void visit_common(FieldVisitor& visitor) {
    visitor.visit("classes", classes);
    visitor.visit("image_size", image_size);
    visitor.visit("drop_path", drop_path);
  }
};

// Makes a family's config copyable through its base.
template <class Config>
struct ConfigOf : ModelConfig {
  std::unique_ptr<ModelConfig> clone() const override {
    return std::make_unique<Config>(static_cast<const Config&>(*this));
  }
};

// A config of any family, with the copies of a value. Empty until one is assigned.
class AnyConfig {
 public:
  AnyConfig() = default;
  template <std::derived_from<ModelConfig> Config>
  AnyConfig(Config config) : config_(std::make_unique<Config>(std::move(config))) {}
  AnyConfig(const AnyConfig& other) : config_(other.copy()) {}
  AnyConfig(AnyConfig&&) noexcept = default;
  AnyConfig& operator=(const AnyConfig& other) {
    config_ = other.copy();
    return *this;
  }
  AnyConfig& operator=(AnyConfig&&) noexcept = default;

  ModelConfig* operator->() { return config_.get(); }
  const ModelConfig* operator->() const { return config_.get(); }
  ModelConfig& operator*() { return *config_; }
  const ModelConfig& operator*() const { return *config_; }

 private:
  std::unique_ptr<ModelConfig> copy() const { return config_ ? config_->clone() : nullptr; }

  std::unique_ptr<ModelConfig> config_;
};

// The image_size of a square grid of `cells` patches that lie `stride` apart (0: patch_size), as a
// field; empty where it is not square.
std::map<std::string, std::string> image_size_shown_by(int64_t cells, int patch_size,
                                                       int stride = 0);
// The same of a position table [1, cells + extra, channels]; empty where it is not there.
std::map<std::string, std::string> image_size_shown_by(const TensorShapes& shapes,
                                                       const std::string& table, int extra,
                                                       int patch_size, int stride = 0);

// The rows of a classifier's weight [classes, width], as a field; empty where it is not there.
std::map<std::string, std::string> classes_shown_by(const TensorShapes& shapes,
                                                    const std::string& head_weight);

// Sets the field `name` from its text; throws a usage error for a bad text, and one that lists the
// fields where there is no such one.
void set_field(ModelConfig& config, std::string_view model, const std::string& name,
               const std::string& text);
// Every field as text, in the form set_field takes.
std::map<std::string, std::string> field_texts(const ModelConfig& config);

}  // namespace vig
