// Annotations in COCO's JSON, made for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/archive_bytes.h"
#include "vig/image/image.h"

namespace vig::test {

inline std::string coco_image(int64_t id, const std::string& file, int width = 40,
                              int height = 36) {
  return R"({"id":)" + std::to_string(id) + R"(,"file_name":")" + file + R"(","width":)" +
         std::to_string(width) + R"(,"height":)" + std::to_string(height) + "}";
}

// `more` is what follows the box: R"(,"segmentation":[])".
inline std::string coco_object(int64_t id, int64_t image, int64_t category, const std::string& box,
                               const std::string& more = "") {
  return R"({"id":)" + std::to_string(id) + R"(,"image_id":)" + std::to_string(image) +
         R"(,"category_id":)" + std::to_string(category) + R"(,"bbox":)" + box + more + "}";
}

inline std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

inline std::string coco_json(
    const std::vector<std::string>& images, const std::vector<std::string>& objects,
    const std::string& categories = R"({"id":90,"name":"kite"},{"id":3,"name":"ant"})") {
  return R"({"info":{"x":[1,{"y":null}]},"images":[)" + joined(images) + R"(],"annotations":[)" +
         joined(objects) + R"(],"categories":[)" + categories + "]}";
}

}  // namespace vig::test
