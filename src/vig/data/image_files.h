// Images without targets: files, or the bytes of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vig/data/sample_source.h"
#include "vig/image/decode.h"

namespace vig {

class ImageFiles : public SampleSource {
 public:
  explicit ImageFiles(std::vector<std::string> files, const DecodeOptions& options = {});

  size_t size() const override { return files_.size(); }
  std::string location(size_t sample) const override;
  std::string path(size_t sample) const override { return files_[sample]; }
  // An image that is too large for the memory there is throws Error, too.
  Sample load(size_t sample) const override;

 protected:
  const DecodeOptions& options() const { return options_; }

 private:
  const std::vector<std::string> files_;
  const DecodeOptions options_;
};

// Files in memory, which belongs to the caller.
class ImageBytes final : public SampleSource {
 public:
  struct File {
    std::string name;  // for messages
    std::span<const uint8_t> bytes;
  };
  explicit ImageBytes(std::vector<File> files, const DecodeOptions& options = {});

  size_t size() const override { return files_.size(); }
  std::string location(size_t sample) const override;
  std::string path(size_t sample) const override { return files_[sample].name; }
  Sample load(size_t sample) const override;

 private:
  const std::vector<File> files_;
  const DecodeOptions options_;
};

}  // namespace vig
