// The images of a command: files, and streams such as standard input, a pipe or a device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "vig/cli/find_images.h"
#include "vig/data/image_files.h"
#include "vig/data/image_store.h"

namespace vig::cli {

inline constexpr const char* kStandardInput = "-";

// Anything but a regular file or a folder: it can be read once, and its writer may keep us waiting.
bool is_stream(const std::string& name);

// The writer was waited for in vain.
struct StreamInterrupted {};

// Streams are read one after the other, in their order, whichever thread loads them: the same one
// may be named twice, and one writer may fill several. Loading waits for the writer until the end
// of the stream, and throws StreamInterrupted when the program is interrupted() meanwhile.
class CommandImages final : public ImageFiles {
 public:
  // As find_images gives them.
  CommandImages(std::vector<std::string> files, const std::vector<ImageOrigin>& origins,
                const std::vector<std::shared_ptr<const Archive>>& archives,
                const DecodeOptions& options);

  Sample load(size_t sample) const override;

 private:
  class Turn;

  std::vector<ImageOrigin> origins_;  // none: no image is in an archive
  std::vector<std::unique_ptr<const ImageStore>> archives_;
  std::vector<size_t> streams_;  // which of the files are streams
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable size_t next_ = 0;  // in streams_: the one to be read
};

}  // namespace vig::cli
