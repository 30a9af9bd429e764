// A golden case: an input, the parameters of a small network and what the original code made of
// them. docs/verify.md describes the files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/json.h"
#include "vig/image/preprocess.h"
#include "vig/models/family.h"
#include "vig/weights/checkpoint.h"
#include "vig/weights/load.h"

namespace vig {

// What a golden case holds of one version of its network (Family::versions).
struct GoldenVersion {
  ModelSpec spec;
  std::string output;       // name of a tensor; empty: there is none
  std::string activations;  // what the names of tensors begin with; empty: there are none
  std::string maps = "";    // the same of the four maps of a backbone
};

struct GoldenCase {
  enum class Kind { kNetwork, kScan, kDense, kMaps, kOperator };

  std::string file;
  Kind kind = Kind::kNetwork;
  std::shared_ptr<const Checkpoint> tensors;
  ModelSpec spec;                       // of a network; a scan has none
  std::vector<GoldenVersion> versions;  // of a network, that of `spec` and "output" first
  std::vector<Placement> images;        // of a network of dense prediction, in its input
  Json description;                     // the text beside the tensors of an operator

  // Throws when the case has no such tensor, or not of floating point.
  const TensorView& tensor(const std::string& name) const;
  // The same for integers.
  const TensorView& integers(const std::string& name) const;
  // The graph of a version for the images of the case.
  Graph graph(const GoldenVersion& version) const;
  // The parameters of a graph, without the beginning `prefix` of our names.
  std::shared_ptr<const Weights> weights(const Graph& graph, std::string_view prefix = "") const;
};

// [batch, channels, positions] to [batch, positions, channels], the engine's order.
std::vector<float> channels_last(const std::vector<float>& from, int64_t batch, int64_t channels);

// What the text beside a network's tensors says.
struct GoldenConfig {
  ModelSpec spec;
  std::vector<Placement> images;         // of a network of dense prediction
  bool backbone = false;                 // only the maps of its backbone are described
  std::vector<std::string> activations;  // names of tensors that the case promises to hold
};

// `file` begins every message; sizes in the text must be those of `input`, [batch, 3, height,
// width]. Fields that the text does not set are those that `parameters` show, where given.
GoldenConfig parse_golden_config(const std::string& file, std::string_view text, const Shape& input,
                                 const TensorShapes& parameters = {});

// Opens FILE.safetensors, and for a network FILE.json beside it. Throws when a tensor is neither
// something to compare nor known to be left out: a check that cannot be made is no pass.
GoldenCase open_golden_case(const std::string& file);

}  // namespace vig
