// Made images of rectangles and discs to segment and to detect.
#pragma once

#include "train/fixtures.h"

namespace vig::test {

inline constexpr int kMadeSide = 64;

// images/SPLIT/N.png, labels/SPLIT/N.png and classes.txt: class 0 is the ground, 1 rectangles, 2
// discs; a border of some pixels has no label.
Files labelled_images(int train, int val);

// SPLIT/N.png and annotations/instances_SPLIT.json: classes "rectangle" and "disc" with masks.
Files annotated_images(int train, int val);

// Miniatures that overfit such images within seconds.
train::TrainOptions tiny_segmentation();
train::TrainOptions tiny_detection();

}  // namespace vig::test
