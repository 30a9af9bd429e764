#include "vig/cli/picture_outputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <new>
#include <set>
#include <system_error>

#include "vig/base/error.h"
#include "vig/cli/picture_command.h"
#include "vig/cli/picture_stream.h"
#include "vig/image/encode.h"
#include "vig/image/encode_png.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {

namespace fs = std::filesystem;

std::string preview_ending(const std::string& ending) {
  return ending.substr(0, ending.rfind('.')) + ".preview.jpg";
}

PictureOutputs::PictureOutputs(std::string folder, std::span<const std::string> pictures,
                               std::vector<std::string> endings)
    : folder_(std::move(folder)), endings_(std::move(endings)) {
  std::set<std::string> taken;
  std::map<std::string, int> next;  // number to try
  for (const std::string& picture : pictures) {
    const std::string own =
        picture == kStandardInput ? "standard-input" : fs::path(picture).stem().string();
    std::string name = own;
    for (int& number = next.try_emplace(own, 2).first->second; !taken.insert(name).second;
         ++number) {
      name = fmt::format("{}-{}", own, number);
    }
    names_.push_back(std::move(name));
  }
}

PictureOutputs::PictureOutputs(std::string folder, const PictureRun& pictures,
                               std::vector<std::string> endings)
    : PictureOutputs(std::move(folder), pictures.all_files(), std::move(endings)) {
  const auto first = names_.begin() + static_cast<std::ptrdiff_t>(pictures.first());
  const auto last = first + static_cast<std::ptrdiff_t>(pictures.files().size());
  names_ = std::vector<std::string>(first, last);
}

std::string PictureOutputs::path(size_t picture, const std::string& ending) const {
  // Not by fs::path: adding a name to "FOLDER/" crashes in GCC 12 where memory lacks.
  const bool joined = folder_.empty() || folder_.ends_with('/');
  return fmt::format("{}{}{}.{}", folder_, joined ? "" : "/", names_[picture], ending);
}

void PictureOutputs::add_roles(FileRoles& roles) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    for (const std::string& ending : endings_) roles.write_one_of("--out", path(i, ending));
  }
}

void PictureOutputs::prepare() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail("{}: the folder cannot be made: {}", folder_, error.message());
  if (!names_.empty()) const AtomicFile probe(path(0, endings_.front()));  // vanishes again
}

void PictureOutputs::write(size_t picture, const std::string& ending,
                           const std::function<std::vector<uint8_t>()>& draw) const {
  std::vector<uint8_t> bytes;
  try {
    bytes = draw();
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory to draw it", path(picture, ending));
  }
  AtomicFile file(path(picture, ending));
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void PictureOutputs::write_drawing(size_t picture, const std::string& ending,
                                   const std::function<Image()>& draw) const {
  constexpr int64_t kMostPixels = 4'000'000;
  constexpr int kPreviewSide = 1600;
  std::vector<uint8_t> preview;
  write(picture, ending, [&] {
    const Image drawn = draw();
    if (int64_t{drawn.width} * drawn.height > kMostPixels) {
      preview = encode_jpeg(thumbnail(drawn, kPreviewSide));
    }
    return encode_png(drawn);
  });
  if (!preview.empty()) write(picture, preview_ending(ending), [&] { return preview; });
}

}  // namespace vig::cli
