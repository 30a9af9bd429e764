// A picture as numbers: one vector, or one vector for each cell of the network's last grid.
#pragma once

#include <vector>

namespace vig {

struct Embedding {
  // 1 x 1 for the pooled vector.
  int height = 1;
  int width = 1;
  int channels = 0;
  std::vector<float> values;  // [height, width, channels]
};

}  // namespace vig
