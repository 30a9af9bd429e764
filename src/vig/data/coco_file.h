// The text of annotations in COCO's JSON, parsed and checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vig/data/data_report.h"
#include "vig/image/box.h"
#include "vig/image/mask.h"

namespace vig {

struct CocoImage {
  int64_t id = 0;
  std::string file_name;
  int width = 0, height = 0;
};

struct CocoAnnotation {
  int64_t id = 0;
  uint32_t image = 0;  // in CocoFile::images
  int32_t label = 0;
  Box box;
  double area = 0;
  uint64_t segmentation = 0;  // where in the text; 0: there is none
  bool crowd = false;
  bool for_training = true;  // not flagged to be ignored, and of a pixel at least
};

// What filling the polygons of one image may cost.
struct MaskWork {
  uint64_t columns = uint64_t{1} << 23;  // that edges may still cross
};

// Everything but masks, which stay in the text until they are asked for.
struct CocoFile {
  static constexpr size_t kMaxAnnotations = size_t{8} << 20;
  static constexpr size_t kMaxImages = size_t{4} << 20;
  static constexpr size_t kMaxCategories = 100'000;

  std::string name;  // for messages
  std::string_view text;
  std::vector<std::string> classes;  // in ascending order of the ids
  std::vector<int64_t> category_ids;
  std::vector<CocoImage> images;            // in ascending order of their ids
  std::vector<CocoAnnotation> annotations;  // by image, in the order of the file
  std::vector<uint32_t> first;              // of each image's annotations, and the end
  DataReport problems;                      // annotations that were left out

  // The mask of an annotation; empty without segmentation. Throws Error, also when the polygons of
  // its image take more than `work` together.
  Mask mask(const CocoAnnotation& annotation, MaskWork& work) const;
  std::string location(const CocoAnnotation& annotation) const;
};

// `text` outlives the result. Throws Error.
CocoFile parse_coco(const std::string& name, std::string_view text);

}  // namespace vig
