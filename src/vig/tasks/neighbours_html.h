// A page of pictures beside those that are most like them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vig {

struct ShownPicture {
  std::string file;
  float cosine = 1;
  std::vector<uint8_t> jpeg;  // a small picture; empty where it could not be read
};

struct ShownQuery {
  ShownPicture query;
  std::vector<ShownPicture> neighbours;
};

// One HTML page that needs nothing else, as mistakes_html.
std::string neighbours_html(std::span<const ShownQuery> queries);

}  // namespace vig
