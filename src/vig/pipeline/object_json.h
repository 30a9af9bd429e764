// Objects of a large image as JSON lines and as GeoJSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vig/pipeline/region_windows.h"
#include "vig/tasks/merge_objects.h"

namespace vig {

// On one line: {"bbox": [x, y, width, height] in pixels of level 0, "score", "category_id" (the
// label + 1), "category_name", "area" (pixels of the mask), "segmentation": {"level", "x", "y",
// "size": [height, width], "counts"}}: COCO's compressed runs of the mask, which begins at pixel
// x, y of the level. `object` is in pixels of the plan's region.
std::string object_json(const LargeObject& object, const WindowPlan& plan,
                        const std::vector<std::string>& classes);

// What a collection of features begins and ends with; features are separated by ",\n".
std::string geojson_begin(const std::optional<GeoTransform>& geo);
std::string geojson_end();
// One feature: the polygons of the mask, or the box where there is no mask, in coordinates of the
// map where there are any, otherwise in pixels of level 0. Class and score as QuPath reads them.
std::string object_feature(const LargeObject& object, const WindowPlan& plan,
                           const std::optional<GeoTransform>& geo,
                           const std::vector<std::string>& classes);

}  // namespace vig
