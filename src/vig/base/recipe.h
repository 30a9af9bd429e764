// How a picture becomes a network's input: plain numbers that travel with the weights.
#pragma once

#include <array>

namespace vig {

enum class Interpolation { kBilinear, kBicubic };

// Resize the short side to `resize` (antialiased, as Pillow does), cut a centred square of `crop`,
// scale to 0..1, subtract `mean`, divide by `std`.
struct Recipe {
  int resize = 256;
  int crop = 224;
  Interpolation interpolation = Interpolation::kBicubic;
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};
  std::array<float, 3> std = {0.229f, 0.224f, 0.225f};

  // The same recipe for another input size, keeping the ratio of resize to crop.
  Recipe with_size(int size) const {
    Recipe other = *this;
    other.resize = static_cast<int>((static_cast<long long>(resize) * size + crop / 2) / crop);
    other.crop = size;
    return other;
  }
  bool operator==(const Recipe&) const = default;
};

}  // namespace vig
