// Images in a list, each with what a data set says of it; and lists without targets: files, or the
// bytes of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vig/image/image.h"

namespace vig {

struct Target;  // data/target.h

struct Sample {
  std::shared_ptr<const Image> image;
  std::shared_ptr<Target> target;  // null: nothing is known of the image
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual size_t size() const = 0;
  // The whole name of a sample, fit for a message: "data/cifar10.tar/train/cat/0001.jpg".
  virtual std::string location(size_t sample) const = 0;
  // The same with its own bytes, as programs take it.
  virtual std::string path(size_t sample) const { return location(sample); }
  // For any number of threads. Throws Error naming the location when the image or its target
  // cannot be read.
  virtual Sample load(size_t sample) const = 0;
};

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
