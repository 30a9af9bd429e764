// An image as features: one vector, or one vector for each cell of the network's last grid.
#pragma once

#include <vector>

namespace vig {

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

}  // namespace vig
