// The files that a command writes for each of its images.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vig/cli/file_roles.h"
#include "vig/image/image.h"

namespace vig::cli {

class ImageRun;

inline constexpr int kPreviewSide = 1600;  // pixels of a preview's longer side

// Of the preview beside a drawing: "overlay.preview.jpg" for "overlay.png".
std::string preview_ending(const std::string& ending);

// FOLDER/NAME.ENDING, where NAME is that of the image's file without its extension. Images of
// one name, from several folders, are numbered: NAME, NAME-2, NAME-3.
class ImageOutputs {
 public:
  // `endings`: "overlay.png". Makes no file or folder.
  ImageOutputs(std::string folder, std::span<const std::string> images,
               std::vector<std::string> endings);
  // For the images of a command, which may be a part of those that get names.
  ImageOutputs(std::string folder, const ImageRun& images, std::vector<std::string> endings);

  std::string path(size_t image, const std::string& ending) const;
  // What would be written, to be compared with what is read.
  void add_roles(FileRoles& roles) const;
  // Makes the folder; throws unless files can be written there.
  void prepare() const;
  // All or nothing. `draw` makes the bytes of the file, which is named where memory lacks for them.
  void write(size_t image, const std::string& ending,
             const std::function<std::vector<uint8_t>()>& draw) const;
  // The same of a PNG. One of more than 4 million pixels gets a preview beside it: a JPEG with a
  // longer side of kPreviewSide under preview_ending(ending).
  void write_drawing(size_t image, const std::string& ending,
                     const std::function<Image()>& draw) const;

 private:
  std::string folder_;
  std::vector<std::string> names_;
  std::vector<std::string> endings_;
};

}  // namespace vig::cli
