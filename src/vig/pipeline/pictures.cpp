#include "vig/pipeline/pictures.h"

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace vig {

Picture make_picture(const std::string& name, const Image& image, const Recipe& recipe) {
  return {name, crop_to_recipe(image, recipe), place(recipe, image.width, image.height), ""};
}

Picture read_picture(const std::string& file, const Recipe& recipe, const DecodeOptions& options) {
  try {
    const LoadedImage loaded = load_image(file, options);
    return make_picture(file, loaded.image, recipe);
  } catch (const std::exception& error) {
    Picture bad;
    bad.name = file;
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    bad.error = no_memory ? file + ": not enough memory" : error.what();
    return bad;
  }
}

PictureReader::PictureReader(std::vector<std::string> files, int batch, Read read)
    : files_(std::move(files)), batch_(std::max(batch, 1)), read_(std::move(read)) {}

std::vector<Picture> PictureReader::read(size_t first) const {
  std::vector<Picture> pictures;
  const size_t last = std::min(files_.size(), first + static_cast<size_t>(batch_));
  for (size_t i = first; i < last; ++i) pictures.push_back(read_(files_[i]));
  return pictures;
}

std::vector<Picture> PictureReader::next() {
  std::vector<Picture> pictures = ahead_.valid() ? ahead_.get() : read(position_);
  position_ += pictures.size();
  if (position_ < files_.size()) {
    try {
      ahead_ = std::async(std::launch::async, [this, first = position_] { return read(first); });
    } catch (const std::system_error&) {  // no thread to be had: the next call reads
    }
  }
  return pictures;
}

}  // namespace vig
