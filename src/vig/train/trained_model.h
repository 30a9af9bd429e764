// The network of a run: from a name or a file to parameters that learn, and back to a file that the
// engine reads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/models/family.h"
#include "vig/pipeline/model_source.h"
#include "vig/torch/parameters.h"
#include "vig/train/options.h"

namespace vig::train {

// Where the parameters of a network come from, and how many of them change.
struct Beginning {
  std::string file;  // empty: all are fresh
  int64_t loaded = 0, fresh = 0, learning = 0;
  std::vector<std::string> fresh_names;  // of tensors or of modules, where a file gives the others
  std::string fresh_reason;              // why these are
  std::string added;                     // a sentence on fields that the program has chosen
};

struct TrainedModel {
  ModelSpec spec;  // with this run's classes and, of a fresh network, its size
  std::vector<std::string> classes;
  int height = 0, width = 0;  // of the input
  double drop_path = 0;       // of the last block; 0 where nothing is dropped
  bool drops = false;         // whether training leaves anything out: branches or channels
  // The one that sees the image first, at that size. Each lists the parameters of all.
  std::vector<Graph> graphs;
  Beginning beginning;
  Parameters parameters;

  const Graph& graph() const { return graphs.front(); }
};

// Which network a run trains, before the size of its input is known.
struct ModelPlan {
  ModelSource source;  // where parameters come from: the model itself, or a classifier
  ModelSpec spec;
  std::vector<std::string> classes;
  bool from_classifier = false;  // the source's tensors are those of the backbone
  std::string added = {};        // as in Beginning
};

// The model of the options for `task`. A classifier, by name or as a file, stands for the backbone
// of the zoo's model for that task: NAME_... for the classifier NAME, or the one that options.arch
// names. A classifier with too few stages gets further ones, see pyramid_fields.h. Throws where
// there is no such model.
ModelPlan plan_model(const TrainOptions& options, const std::vector<std::string>& classes,
                     ModelTask task);

// A zoo name gives fresh weights from options.seed. A file gives its own; its head begins afresh
// when its classes are not these, and of a classifier that becomes a backbone all that it has not.
// With options.probe all but the classifier is frozen.
TrainedModel make_trained_model(const TrainOptions& options, const ModelPlan& plan, int height,
                                int width);
// A classifier at the size of its recipe.
TrainedModel make_trained_model(const TrainOptions& options,
                                const std::vector<std::string>& classes);

// Writes `flat`, which has the layout of model.parameters, with all the engine needs to know, and
// `notes` beside it under vig.training.
void write_trained_model(const std::string& path, const TrainedModel& model, const at::Tensor& flat,
                         const std::map<std::string, std::string>& notes);

}  // namespace vig::train
