// Picture files on their way to a network: decoded and cropped ahead of the engine.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "vig/base/recipe.h"
#include "vig/image/decode.h"
#include "vig/image/image.h"
#include "vig/image/preprocess.h"

namespace vig {

// A picture cut to the network's input, still in 8 bits.
struct Picture {
  std::string name;
  Image crop;           // recipe.crop square
  Placement placement;  // of the crop in the file's picture
  std::string error;    // why there is no crop; empty when there is one

  bool good() const { return error.empty(); }
};

Picture make_picture(const std::string& name, const Image& image, const Recipe& recipe);
// A file that is no good, or too large for the memory there is, comes back with its error.
Picture read_picture(const std::string& file, const Recipe& recipe, const DecodeOptions& options);

// Hands out files in order, `batch` at a time, and reads the next ones in the background.
class PictureReader {
 public:
  // How one file becomes a picture. What it raises, next() does.
  using Read = std::function<Picture(const std::string& file)>;
  PictureReader(std::vector<std::string> files, int batch, Read read);
  PictureReader(const PictureReader&) = delete;
  PictureReader& operator=(const PictureReader&) = delete;

  // At most `batch`; empty at the end.
  std::vector<Picture> next();

 private:
  std::vector<Picture> read(size_t first) const;

  std::vector<std::string> files_;
  int batch_;
  Read read_;
  size_t position_ = 0;  // of the first file not handed out
  std::future<std::vector<Picture>> ahead_;
};

}  // namespace vig
