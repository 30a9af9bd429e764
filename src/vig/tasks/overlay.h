// Answers drawn over the picture that they are about.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "vig/image/draw.h"
#include "vig/image/image.h"
#include "vig/tasks/detection.h"
#include "vig/tasks/segmentation.h"

namespace vig {

// Colours that are easily told apart, neighbours most of all; the same number gives the same colour
// everywhere.
Color class_color(size_t label);
std::vector<Color> class_palette(size_t classes);

// What shares of a picture the classes have.
struct AreaShare {
  int label = 0;
  double share = 0;  // of the labelled pixels
};
std::vector<AreaShare> area_shares(const LabelMap& labels);  // the largest first

struct OverlayOptions {
  double opacity = 0.55;     // of the colours over the picture
  bool legend = true;        // names below the picture, or beside its boxes
  bool contours = true;      // the edges of regions and masks in full colour
  size_t most_entries = 16;  // of the legend; the rest is summed up
  double least_score = 0;    // detections below are not drawn
};

// The classes in colour over the picture, and a legend in rows below it: colour, name and share,
// the largest first. Small pictures are enlarged by a whole factor to make the text legible.
// `labels` has the picture's size; class names that are missing show as numbers.
Image draw_segmentation(const Image& image, const LabelMap& labels,
                        std::span<const std::string> classes, const OverlayOptions& options = {});

// Boxes with class and score, masks in the same colour; the best detection lies on top.
Image draw_detections(const Image& image, const Detections& detections,
                      std::span<const std::string> classes, const OverlayOptions& options = {});

}  // namespace vig
