// What networks predict for an image.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vig/image/image.h"

namespace vig {

struct ClassScore {
  int index = 0;
  std::string name;  // empty when the classes have no names
  float probability = 0;
  float logit = 0;

  bool operator==(const ClassScore&) const = default;
};

// The best classes, best first; of equal ones the smaller index comes first.
struct Classification {
  std::vector<ClassScore> scores;
};

// An image as features: one vector, or one vector for each cell of the network's last grid.
struct Embedding {
  bool map = false;  // a vector for each cell; else one vector, and the grid is 1 x 1
  int height = 1;
  int width = 1;
  int channels = 0;
  std::vector<float> values;  // [height, width, channels]

  std::vector<int> shape() const {
    return map ? std::vector{height, width, channels} : std::vector{channels};
  }
};

// A class for every pixel.
struct Segmentation {
  LabelMap labels;  // of the image as it is stored, kNoLabel nowhere
  // Where asked for: the softmax of the classes, [height, width, classes].
  std::vector<float> probabilities;
};

// An object.
struct Detection {
  Box box;  // in the image as it is stored
  int label = 0;
  float score = 0;
  Mask mask;  // of the whole image
};

// Of one image, the best first.
using Detections = std::vector<Detection>;

// A number for every token of a grid, row by row.
struct TokenMap {
  int height = 0;
  int width = 0;
  std::vector<float> values;
};

// What each token of the last grid adds to a class: the mean over the map is the class's logit.
// Against another class it is the difference of both.
struct Evidence {
  ClassScore about;                   // the class
  std::optional<ClassScore> against;  // the other class
  TokenMap map;
};

// What one layer takes from every token for the token at a position.
struct LayerAttention {
  int layer = 0;
  int head = -1;            // -1: the mean over the heads
  int row = 0, column = 0;  // of the token
  TokenMap map;
  // Of gated linear attention in both directions, where asked for: of each alone, forward first.
  // The map is half their sum.
  std::vector<TokenMap> directions = {};
};

}  // namespace vig
