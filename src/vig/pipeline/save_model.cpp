#include "vig/pipeline/save_model.h"

#include <cmath>
#include <list>

#include "vig/base/error.h"
#include "vig/models/family.h"
#include "vig/runtime/int8_weights.h"
#include "vig/weights/half.h"
#include "vig/weights/model_info.h"
#include "vig/weights/safetensors.h"

namespace vig {
namespace {

constexpr std::string_view kExtension = ".safetensors";

// Both 16-bit types; one converts a float to bits, the other back.
template <typename To, typename From>
std::vector<uint16_t> rounded(const std::string& file, const ParamSpec& spec, const float* values,
                              DType dtype, To to, From from) {
  std::vector<uint16_t> bits(static_cast<size_t>(spec.shape.elements()));
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = to(values[i]);
    if (std::isfinite(values[i]) && !std::isfinite(from(bits[i]))) {
      fail("{}: tensor \"{}\" holds {}, which {} cannot", file, spec.name, values[i],
           dtype_name(dtype));
    }
  }
  return bits;
}

}  // namespace

Metadata describe_model(const ModelSource& source) {
  ModelInfo info;
  info.arch = source.spec.name;
  info.overrides = changed_fields(source.spec);
  info.classes = source.classes;
  info.recipe = source.spec.recipe;
  info.confidence = source.confidence;
  if (source.has_weights()) return encode_model_info(info, source.checkpoint->metadata());
  return encode_model_info(info, {{"vig.weights", "random"}});
}

void check_output_format(const std::string& path) {
  if (path.ends_with(kExtension)) return;
  fail_usage("{}: the format follows the name, which ends in {}, or in .onnx for vig convert", path,
             kExtension);
}

std::set<DType> save_model(const ModelSource& source, const std::string& path,
                           std::optional<DType> dtype,
                           const std::vector<std::string>& float_layers) {
  check_output_format(path);
  const auto weights = source_weights(source);
  std::vector<bool> integers(weights->size(), false);
  if (dtype == DType::kI8) {
    const int side = source.spec.recipe.crop;
    const std::vector<Graph> graphs = build_graphs(source.spec, side, side);
    const Precision precision{Arithmetic::kInt8, float_layers};
    check_float_layers(precision, graphs);
    integers = int8_params(precision, graphs);
  }
  std::vector<std::vector<uint16_t>> halves;
  std::list<Int8Weights> codes;
  std::vector<NamedTensor> tensors;
  std::set<DType> written;
  for (size_t i = 0; i < weights->size(); ++i) {
    const ParamSpec& spec = weights->spec(i);
    const TensorView stored = source.has_weights()
                                  ? weights->stored(i)
                                  : TensorView{weights->data(i), DType::kF32, spec.shape};
    DType type = dtype.value_or(stored.dtype);
    if (dtype == DType::kI8 && !integers[i]) {
      type = stored.dtype == DType::kI8 ? DType::kF32 : stored.dtype;
    }
    written.insert(type);
    if (type == DType::kI8) {
      codes.push_back(int8_weights(*weights, i));
      const Int8Weights& made = codes.back();
      tensors.push_back({spec.name, {made.codes.data(), type, spec.shape}});
      tensors.push_back({scales_name(spec.name),
                         {made.scales.data(), DType::kF32, {output_channels(spec.shape)}}});
      continue;
    }
    const void* data = stored.data;
    if (type == DType::kF16 && type != stored.dtype) {
      halves.push_back(rounded(source.name, spec, weights->data(i), type, f32_to_f16, f16_to_f32));
      data = halves.back().data();
    } else if (type == DType::kBF16 && type != stored.dtype) {
      halves.push_back(
          rounded(source.name, spec, weights->data(i), type, f32_to_bf16, bf16_to_f32));
      data = halves.back().data();
    } else if (type == DType::kF32) {
      data = weights->data(i);
    } else if (type != stored.dtype) {
      fail_usage("weights of type {}, expected F32, F16, BF16 or I8", dtype_name(type));
    }
    tensors.push_back({spec.name, {data, type, spec.shape}});
  }
  write_safetensors(path, tensors, describe_model(source));
  return written;
}

}  // namespace vig
