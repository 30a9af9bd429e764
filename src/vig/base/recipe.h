// How an image becomes a network's input: plain values stored with the weights.
#pragma once

#include <array>

namespace vig {

enum class Interpolation { kBilinear, kBicubic };

// How an image is fitted to the network's input.
enum class Framing {
  kCrop,  // the short side becomes `resize`, of which a centred square of `crop` is cut
  // The whole image, its aspect kept, as large as a short side of `resize` and a long side of
  // `longest` allow. Then the sides become multiples of `multiple`:
  kPad,      // by zeros on the right and at the bottom, after normalising
  kStretch,  // by resizing once more
};

// Resize (antialiased, as Pillow does), scale to 0..1, subtract `mean`, divide by `std`.
struct Recipe {
  int resize = 256;
  // Side of the square that the network sees in classification. In segmentation, of the windows
  // that it is trained on and may slide over the image.
  int crop = 224;
  Framing framing = Framing::kCrop;
  int longest = 0;  // of framings without a crop, as what follows
  int multiple = 1;
  int window_stride = 0;  // of windows that slide; 0: the network sees the whole image at once
  Interpolation interpolation = Interpolation::kBicubic;
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};
  std::array<float, 3> std = {0.229f, 0.224f, 0.225f};

  // The same recipe for another input size, keeping the ratio of resize to crop. Without a crop the
  // size is that of the short side.
  Recipe with_size(int size) const {
    Recipe other = *this;
    if (framing != Framing::kCrop) {
      other.longest = static_cast<int>(static_cast<long long>(longest) * size / resize);
      other.resize = size;
      return other;
    }
    other.resize = static_cast<int>((static_cast<long long>(resize) * size + crop / 2) / crop);
    other.crop = size;
    return other;
  }
  bool operator==(const Recipe&) const = default;
};

}  // namespace vig
