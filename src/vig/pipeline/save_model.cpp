#include "vig/pipeline/save_model.h"

#include <cmath>

#include "vig/base/error.h"
#include "vig/weights/half.h"
#include "vig/weights/model_info.h"
#include "vig/weights/safetensors.h"

namespace vig {
namespace {

std::vector<uint16_t> to_half(const ParamSpec& spec, const float* values) {
  std::vector<uint16_t> halves(static_cast<size_t>(spec.shape.elements()));
  for (size_t i = 0; i < halves.size(); ++i) {
    halves[i] = f32_to_f16(values[i]);
    if (std::isfinite(values[i]) && !std::isfinite(f16_to_f32(halves[i]))) {
      fail("{} holds {}, which half precision cannot", spec.name, values[i]);
    }
  }
  return halves;
}

}  // namespace

void save_model(const ModelSource& source, const std::string& path, Precision precision) {
  const auto weights = source_weights(require_weights(source));
  std::vector<std::vector<uint16_t>> halves;
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < weights->size(); ++i) {
    const ParamSpec& spec = weights->spec(i);
    if (precision == Precision::kHalf) {
      halves.push_back(to_half(spec, weights->data(i)));
      tensors.push_back({spec.name, {halves.back().data(), DType::kF16, spec.shape}});
    } else {
      tensors.push_back({spec.name, {weights->data(i), DType::kF32, spec.shape}});
    }
  }
  ModelInfo info;
  info.arch = source.spec.name;
  info.overrides = changed_fields(source.spec);
  info.classes = source.classes;
  info.recipe = source.spec.recipe;
  write_safetensors(path, tensors, encode_model_info(info, source.checkpoint->metadata()));
}

}  // namespace vig
