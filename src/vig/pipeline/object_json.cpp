#include "vig/pipeline/object_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vig/pipeline/json_text.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/mask_polygons.h"

namespace vig {
namespace {

struct Point {
  double x = 0, y = 0;
};

Point map_point(const std::optional<GeoTransform>& geo, const Point& pixel) {
  if (!geo) return pixel;
  return {geo->x0 + pixel.x * geo->x_column + pixel.y * geo->x_row,
          geo->y0 + pixel.x * geo->y_column + pixel.y * geo->y_row};
}

// Closed, and counterclockwise in the coordinates given where `outside`.
Json ring_json(std::vector<Point> ring, bool outside) {
  double area = 0;
  for (size_t i = 0; i < ring.size(); ++i) {
    const Point& a = ring[i];
    const Point& b = ring[(i + 1) % ring.size()];
    area += a.x * b.y - b.x * a.y;
  }
  if ((area > 0) != outside) std::ranges::reverse(ring);
  Json corners = Json::array();
  for (const Point& point : ring) corners.push_back(Json::array({point.x, point.y}));
  if (!ring.empty()) corners.push_back(Json::array({ring.front().x, ring.front().y}));
  return corners;
}

}  // namespace

std::string object_json(const LargeObject& object, const WindowPlan& plan,
                        const std::vector<std::string>& classes) {
  const auto label = static_cast<size_t>(object.label);
  const double x1 = plan.full_x(object.x1), y1 = plan.full_y(object.y1);
  Json entry = {
      {"bbox", Json::array({x1, y1, plan.full_x(object.x2) - x1, plan.full_y(object.y2) - y1})},
      {"score", short_number(object.score)},
      {"category_id", object.label + 1}};
  if (label < classes.size()) entry["category_name"] = classes[label];
  if (object.mask.width > 0) {
    entry["area"] = object.mask.area();
    entry["segmentation"] = {{"level", plan.level},
                             {"x", plan.region.x + object.mask_x},
                             {"y", plan.region.y + object.mask_y},
                             {"size", Json::array({object.mask.height, object.mask.width})},
                             {"counts", mask_text(object.mask)}};
  } else {
    entry["area"] = 0;
  }
  return json_text(entry);
}

std::string geojson_begin(const std::optional<GeoTransform>& geo) {
  std::string begin = "{\"type\":\"FeatureCollection\",";
  if (geo && geo->epsg) {
    begin += fmt::format(
        "\"crs\":{{\"type\":\"name\",\"properties\":{{\"name\":\"urn:ogc:def:crs:EPSG::{}\"}}}},",
        *geo->epsg);
  }
  return begin + "\"features\":[\n";
}

std::string geojson_end() { return "\n]}\n"; }

std::string object_feature(const LargeObject& object, const WindowPlan& plan,
                           const std::optional<GeoTransform>& geo,
                           const std::vector<std::string>& classes) {
  const auto corner = [&](double x, double y) {
    return map_point(geo, {plan.full_x(x), plan.full_y(y)});
  };
  const auto ring = [&](const Ring& corners, bool outside) {
    std::vector<Point> points;
    for (const auto& [x, y] : corners) {
      points.push_back(
          corner(static_cast<double>(object.mask_x + x), static_cast<double>(object.mask_y + y)));
    }
    return ring_json(std::move(points), outside);
  };
  Json polygons = Json::array();
  for (const MaskPolygon& polygon : mask_polygons(object.mask)) {
    Json rings = Json::array();
    rings.push_back(ring(polygon.outside, true));
    for (const Ring& hole : polygon.holes) rings.push_back(ring(hole, false));
    polygons.push_back(std::move(rings));
  }
  if (polygons.size() == 0) {
    Json rings = Json::array();
    rings.push_back(ring_json({corner(object.x1, object.y1), corner(object.x2, object.y1),
                               corner(object.x2, object.y2), corner(object.x1, object.y2)},
                              true));
    polygons.push_back(std::move(rings));
  }
  Json geometry = {{"type", polygons.size() == 1 ? "Polygon" : "MultiPolygon"}};
  geometry["coordinates"] = polygons.size() == 1 ? polygons[0] : polygons;
  const auto label = static_cast<size_t>(object.label);
  const Color color = class_color(label);
  const Json feature = {
      {"type", "Feature"},
      {"geometry", geometry},
      {"properties",
       {{"objectType", "detection"},
        {"classification",
         {{"name", label < classes.size() ? classes[label] : fmt::format("class {}", label)},
          {"color", Json::array({int{color[0]}, int{color[1]}, int{color[2]}})}}},
        {"measurements", {{"score", short_number(object.score)}}}}}};
  return json_text(feature);
}

}  // namespace vig
