// Where the pixels of a TIFF file lie: on a map (GeoTIFF) or under a microscope (resolution).
#pragma once

#include <optional>

#include "vig/image/region_source.h"
#include "vig/image/tiff_tags.h"

namespace vig {

std::optional<GeoTransform> tiff_geo_transform(const TiffTags& tags);
// From the resolution along the width, where it has a unit.
std::optional<double> tiff_microns_per_pixel(const TiffTags& tags);

}  // namespace vig
