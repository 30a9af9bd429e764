// What the pipeline's tests share: goldens, small models on disk.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/tree.h"
#include "vig/base/error.h"
#include "vig/models/family.h"
#include "vig/weights/load.h"
#include "vig/weights/safetensors.h"

namespace vig::test {

inline std::string golden(const std::string& name) {
  return (std::filesystem::path(kFixtures) / "golden" / name).string();
}

inline std::string image_file(const std::string& name) {
  return (std::filesystem::path(kFixtures) / "image" / name).string();
}

// Fresh weights of a model without a word on what they are, as published checkpoints come.
inline void write_bare(const ModelSpec& spec, const std::string& path,
                       const Metadata& metadata = {}) {
  const Graph graph = build_graph(spec, spec.recipe.crop, spec.recipe.crop);
  const auto weights = random_weights(graph.params, 1);
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < weights->size(); ++i) {
    tensors.push_back(
        {weights->spec(i).name, {weights->data(i), DType::kF32, weights->spec(i).shape}});
  }
  write_safetensors(path, tensors, metadata);
}

// The message of the Error that `function` throws; its code goes to `code`.
template <typename Function>
std::string error_of(Function&& function, ErrorCode* code = nullptr) {
  try {
    function();
  } catch (const Error& error) {
    if (code != nullptr) *code = error.code();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace vig::test
