// Predictions drawn over their images.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/image/image.h"
#include "vig/tasks/drawing_scale.h"
#include "vig/tasks/results.h"

namespace vig {

// What shares of an image the classes have.
struct AreaShare {
  int label = 0;
  double share = 0;  // of the labelled pixels
};
std::vector<AreaShare> area_shares(const LabelMap& labels);  // the largest first
// Of the number of pixels of each label; kNoLabel does not count.
std::vector<AreaShare> area_shares(std::span<const int64_t> pixels);

// What is written beside the box of an object. Of a network with one class kShort is the score in
// percent, of others the class; kFull is class and score.
enum class LabelText {
  kAuto,  // kFull up to 12 objects; beyond them kShort, or kNone of a network with one class
  kNone,
  kShort,
  kFull
};
// "auto", "none", "short" or "full".
std::optional<LabelText> parse_label_text(std::string_view word);

struct OverlayOptions {
  double opacity = 0.55;                // of the colours over the image
  bool legend = true;                   // of segmentations: names below the image
  bool contours = true;                 // the edges of regions and masks in full colour
  size_t most_entries = 16;             // of the legend; the rest is summed up
  double least_score = 0;               // detections below are not drawn
  LabelText labels = LabelText::kAuto;  // of detections
};

// The classes over the image in the colours of class_palette, and a legend in rows below it:
// colour, name and share, the largest first. Small images are enlarged by a whole factor to make
// the text legible. `labels` has the image's size; missing class names show as indices.
Image draw_segmentation(const Image& image, const LabelMap& labels,
                        std::span<const std::string> classes, const OverlayOptions& options = {});

// Its parts, for drawings that are made by rows. `drawn` shows the first rows of `labels`, which
// may have further ones below: edges depend on scale.line of them.
void draw_labels(Image& drawn, const LabelMap& labels, std::span<const Color> palette,
                 const DrawingScale& scale, const OverlayOptions& options);
Image draw_legend(const Image& drawn, std::span<const AreaShare> shares,
                  std::span<const std::string> classes, const OverlayOptions& options, int dot);
// A mask whose first pixel is at (x, y) of the image.
void draw_mask(Image& image, const Mask& mask, int x, int y, const DrawingScale& scale, Color color,
               const OverlayOptions& options);

// Boxes and masks, each object in a colour of its own; the best detection lies on top. Labels cover
// neither each other nor other objects; one without room for that is left out.
Image draw_detections(const Image& image, const Detections& detections,
                      std::span<const std::string> classes, const OverlayOptions& options = {});

}  // namespace vig
