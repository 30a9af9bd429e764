// Floats of every size, for functions that must hold everywhere.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace vig::test {

// Every 2017th finite float, both signs, and those around the bends.
inline const std::vector<float>& all_magnitudes() {
  static const std::vector<float> values = [] {
    std::vector<float> result = {0.0f, -0.0f};
    for (uint32_t bits = 1; bits < 0x7F800000u; bits += 2017) {
      result.push_back(std::bit_cast<float>(bits));
      result.push_back(-result.back());
    }
    for (const float edge : {87.0f, 88.0f, 0.34657359f, 20.0f, 16.0f, 1.0f, 3.4028235e38f}) {
      for (const float x : {edge, std::nextafter(edge, 0.0f)}) {
        result.push_back(x);
        result.push_back(-x);
      }
    }
    return result;
  }();
  return values;
}

}  // namespace vig::test
