// vig classify --tiles: classes of the tiles of an image of any size.
#pragma once

#include <string>

#include "vig/cli/image_command.h"
#include "vig/cli/large_images.h"

namespace vig::cli {

struct TileOptions {
  int side = 0;  // of a tile in pixels of the image; 0: images are classified whole
  std::string out = ".";
  LargeOptions large;
};
void add_tile_options(Command& command, TileOptions& options);

// Gives the exit status.
int classify_tiles(const ImageOptions& options, const TileOptions& tiles, int top, bool json);

}  // namespace vig::cli
