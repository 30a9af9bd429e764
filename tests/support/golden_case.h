// Golden cases with something changed.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/files.h"
#include "vig/weights/elements.h"
#include "vig/weights/safetensors.h"

namespace vig::test {

// A tensor with memory of its own, to be changed.
struct CaseTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

// Copies NAME.safetensors and NAME.json, if there is one, into `folder` after `change`; gives the
// copy's path. Only tensors of floating point are kept.
inline std::string changed_case(const std::filesystem::path& file,
                                const std::filesystem::path& folder,
                                const std::function<void(std::vector<CaseTensor>&)>& change) {
  std::vector<CaseTensor> tensors;
  std::vector<NamedTensor> views;  // integers stay as they are
  const SafeTensors original = SafeTensors::open(file.string());
  for (const NamedTensor& tensor : original.tensors()) {
    if (is_float(tensor.view.dtype)) {
      tensors.push_back({tensor.name, tensor.view.shape, to_floats(tensor.view)});
    } else {
      views.push_back(tensor);
    }
  }
  change(tensors);
  for (const CaseTensor& tensor : tensors) {
    views.push_back({tensor.name, {tensor.values.data(), DType::kF32, tensor.shape}});
  }
  const std::filesystem::path copy = folder / file.filename();
  write_safetensors(copy.string(), views);
  std::filesystem::path beside = file;
  beside.replace_extension(".json");
  if (std::filesystem::exists(beside)) {
    write_file(folder / beside.filename(), read_file(beside));
  }
  return copy.string();
}

inline CaseTensor& find_tensor(std::vector<CaseTensor>& tensors, const std::string& name) {
  for (CaseTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("the case has no tensor " + name);
}

}  // namespace vig::test
