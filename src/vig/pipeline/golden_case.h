// A golden case: an input, the parameters of a small network and what the original code made of
// them. docs/verify.md describes the files.
#pragma once

#include <memory>
#include <string>

#include "vig/models/registry.h"
#include "vig/weights/checkpoint.h"

namespace vig {

struct GoldenCase {
  enum class Kind { kNetwork, kScan };

  std::string file;
  Kind kind = Kind::kNetwork;
  std::shared_ptr<const Checkpoint> tensors;
  ModelSpec spec;  // of a network; a scan has none

  // Raises when the case has no such tensor, or not of floating point.
  const TensorView& tensor(const std::string& name) const;
};

// Opens FILE.safetensors, and for a network FILE.json beside it. Raises when a tensor is neither
// something to compare nor known to be left out: a check that cannot be made is no pass.
GoldenCase open_golden_case(const std::string& file);

}  // namespace vig
