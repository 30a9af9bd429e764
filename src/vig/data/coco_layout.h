// Which files of an archive are annotations of COCO, and where their images may lie.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vig/data/dense_files.h"

namespace vig {

struct CocoLayout {
  std::string root;                       // the folder that holds everything
  std::map<std::string, uint32_t> files;  // by split; "" for the only one of no split
};

// None if no file is recognised. Throws Error where several are of one split.
CocoLayout find_coco_files(const FilesByName& files);

// In the order of preference, each with its slash or empty. `json_folder` and `stem` are those of
// the annotations: "annotations/" and "instances_train2017".
std::vector<std::string> coco_image_folders(const std::string& root, const std::string& json_folder,
                                            const std::string& stem);

}  // namespace vig
