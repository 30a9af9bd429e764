#include "vig/cli/image_outputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <new>
#include <set>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/folder_entries.h"
#include "vig/cli/image_command.h"
#include "vig/cli/image_stream.h"
#include "vig/image/encode.h"
#include "vig/image/encode_png.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {

namespace fs = std::filesystem;

std::string preview_ending(const std::string& ending) {
  return ending.substr(0, ending.rfind('.')) + ".preview.jpg";
}

ImageOutputs::ImageOutputs(std::string folder, std::span<const std::string> images,
                           std::vector<std::string> endings)
    : folder_(std::move(folder)), endings_(std::move(endings)) {
  std::set<std::string> taken;
  std::map<std::string, int> next;  // number to try
  for (const std::string& image : images) {
    const std::string own =
        image == kStandardInput ? "standard-input" : fs::path(image).stem().string();
    std::string name = own;
    for (int& number = next.try_emplace(own, 2).first->second; !taken.insert(name).second;
         ++number) {
      name = fmt::format("{}-{}", own, number);
    }
    names_.push_back(std::move(name));
  }
}

ImageOutputs::ImageOutputs(std::string folder, const ImageRun& images,
                           std::vector<std::string> endings)
    : ImageOutputs(std::move(folder), images.all_files(), std::move(endings)) {
  std::vector<std::string> own;
  for (size_t i = 0; i < images.files().size(); ++i) {
    own.push_back(std::move(names_[images.position(i)]));
  }
  names_ = std::move(own);
}

std::string ImageOutputs::path(size_t image, const std::string& ending) const {
  // Not by fs::path: adding a name to "FOLDER/" crashes in GCC 12 where memory lacks.
  const bool complete = folder_.empty() || folder_.ends_with('/');
  return fmt::format("{}{}{}.{}", folder_, complete ? "" : "/", names_[image], ending);
}

void ImageOutputs::add_roles(FileRoles& roles) const {
  std::error_code absent;
  const std::vector<std::string> entries = folder_entries(folder_.empty() ? "." : folder_, absent);
  const std::set<std::string_view> there(entries.begin(), entries.end());
  if (there.empty()) return;
  for (size_t i = 0; i < names_.size(); ++i) {
    for (const std::string& ending : endings_) {
      if (there.contains(names_[i] + "." + ending)) roles.write_one_of("--out", path(i, ending));
    }
  }
}

void ImageOutputs::prepare() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail("{}: the folder cannot be made: {}", folder_, error.message());
  if (!names_.empty()) const AtomicFile probe(path(0, endings_.front()));  // vanishes again
}

void ImageOutputs::write(size_t image, const std::string& ending,
                         const std::function<std::vector<uint8_t>()>& draw) const {
  std::vector<uint8_t> bytes;
  try {
    bytes = draw();
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory to draw it", path(image, ending));
  }
  AtomicFile file(path(image, ending));
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void ImageOutputs::write_drawing(size_t image, const std::string& ending,
                                 const std::function<Image()>& draw) const {
  constexpr int64_t kMostPixels = 4'000'000;
  std::vector<uint8_t> preview;
  write(image, ending, [&] {
    const Image drawn = draw();
    if (int64_t{drawn.width} * drawn.height > kMostPixels) {
      preview = encode_jpeg(thumbnail(drawn, kPreviewSide));
    }
    return encode_png(drawn);
  });
  if (!preview.empty()) write(image, preview_ending(ending), [&] { return preview; });
}

}  // namespace vig::cli
