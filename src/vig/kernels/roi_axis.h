// One axis of RoIAlign: which pixels the cells of a box take, and how much of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vig {

struct RoiAxis {
  RoiAxis(float low, float high, float scale, int side, int sampling_ratio, int64_t size);

  struct Cell {
    int64_t first = 0;  // pixel
    int64_t count = 0;
    const float* weights = nullptr;
  };
  Cell cell(int p) const {
    const auto i = static_cast<size_t>(p);
    return {first_[i], begin_[i + 1] - begin_[i], weights_.data() + begin_[i]};
  }

 private:
  std::vector<int64_t> first_, begin_;
  std::vector<float> weights_;
};

}  // namespace vig
