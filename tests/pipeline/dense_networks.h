// Miniatures of dense prediction, made of operations that every network has.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "vig/models/family.h"
#include "vig/pipeline/model_source.h"

namespace vig::test {

// Adds the families of both to the zoo, once.
void add_dense_networks();

// Fresh weights of "mini_segmenter" (4 classes: logits at a quarter of the image's sides) or
// "mini_detector" (3 classes), written to `path` with these class names.
void write_dense_network(const std::string& model, const std::string& path,
                         const std::vector<std::string>& classes = {});
// The same as a source.
ModelSource dense_source(const std::string& path);

// Writes these values as the input of an image (RunImage::write).
inline std::function<void(float* out)> writer(std::vector<float> values) {
  return [values = std::move(values)](float* out) { std::ranges::copy(values, out); };
}

// The stand-in network of the golden case "slide", with its weights: a rectifier and a convolution.
void write_slide_network(const std::string& path);

}  // namespace vig::test
