// Small data under the names that README and docs use, so that their commands can run.
#pragma once

#include <filesystem>

namespace vig::test {

// Into the folder of a copy of the tree:
//   photos/, holiday/, flowers/, flowers.tar.gz   images, in folders of classes but for holiday/
//   cat.jpg, photo.jpg, street.jpg, slide.png     single images
//   camvid/                                       images/, labels/, train.txt, classes.txt
//   nuclei/, coco/                                COCO annotations; coco/ has a split val, too
//   scenes.safetensors, objects.safetensors       a segmentation network and a detector
//   flowers.safetensors                           a classifier of random weights
void write_example_data(const std::filesystem::path& folder);

}  // namespace vig::test
