// The network of a run: from a name or a file to parameters that learn, and back to a file that the
// engine reads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/models/registry.h"
#include "vig/train/options.h"
#include "vig/train/parameters.h"

namespace vig::train {

// Where the numbers of a network come from, and which of them change; in parameters.
struct Beginning {
  std::string file;  // empty: all are fresh
  int64_t loaded = 0, fresh = 0, learning = 0;
  std::vector<std::string> fresh_names;  // of tensors, where a file gives the others
  std::string fresh_reason;              // why these are
};

struct TrainedModel {
  ModelSpec spec;  // with this run's classes and, of a fresh network, its size
  std::vector<std::string> classes;
  int size = 0;          // of the input
  double drop_path = 0;  // of the last block; 0 where nothing is dropped
  Graph graph;           // at that size
  Beginning beginning;
  Parameters parameters;
};

// A zoo name gives fresh weights from options.seed. A file gives its own; its classifier begins
// afresh when its classes are not these. With options.probe all but the classifier is frozen.
TrainedModel make_trained_model(const TrainOptions& options,
                                const std::vector<std::string>& classes);

// Writes `flat`, which has the layout of model.parameters, with all the engine needs to know, and
// `notes` beside it under vig.training.
void write_trained_model(const std::string& path, const TrainedModel& model, const at::Tensor& flat,
                         const std::map<std::string, std::string>& notes);

}  // namespace vig::train
