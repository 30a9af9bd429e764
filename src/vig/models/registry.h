// The networks that come with vig, by name.
#pragma once

#include <string>
#include <vector>

namespace vig {

struct Graph;

// What a network is for.
enum class ModelTask { kClassify, kSegment, kDetect };

struct ModelEntry {
  std::string name;
  ModelTask task = ModelTask::kClassify;
  int height = 0, width = 0;  // of the image that it is described with; others are possible
  int classes = 0;
  std::string note;  // what it is, in a few words
};

std::vector<ModelEntry> list_models();

// The graphs of a model for images of this size, the one that sees the image first. Each lists the
// parameters of all. Throws a usage error that lists the names when there is no such model.
std::vector<Graph> build_graphs(const std::string& model, int height, int width);

}  // namespace vig
