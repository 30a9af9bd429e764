#include "vig/data/image_files.h"

#include <memory>
#include <new>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

constexpr size_t kMostShown = 4096;  // bytes of a name

}  // namespace

ImageFiles::ImageFiles(std::vector<std::string> files, const DecodeOptions& options)
    : files_(std::move(files)), options_(options) {}

std::string ImageFiles::location(size_t sample) const {
  return printable(files_[sample], kMostShown);
}

Sample ImageFiles::load(size_t sample) const {
  try {
    return {shared_image(load_image(files_[sample], options_)), {}};
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory for the image", files_[sample]);
  }
}

ImageBytes::ImageBytes(std::vector<File> files, const DecodeOptions& options)
    : files_(std::move(files)), options_(options) {}

std::string ImageBytes::location(size_t sample) const {
  return printable(files_[sample].name, kMostShown);
}

Sample ImageBytes::load(size_t sample) const {
  const File& file = files_[sample];
  return {shared_image(load_image(file.bytes, file.name, options_)), {}};
}

}  // namespace vig
