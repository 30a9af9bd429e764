// A page of images beside those that are most like them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vig {

struct ShownImage {
  std::string file;
  float cosine = 1;
  std::vector<uint8_t> jpeg;  // a small image; empty where it could not be read
};

struct ShownQuery {
  ShownImage query;
  std::vector<ShownImage> neighbours;
};

// One HTML page that needs nothing else, as mistakes_html.
std::string neighbours_html(std::span<const ShownQuery> queries);

}  // namespace vig
