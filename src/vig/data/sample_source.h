// Images in a list, each with what a data set says of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

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
  // For any number of threads. Throws Error naming the location when the image or its target cannot
  // be read.
  virtual Sample load(size_t sample) const = 0;
};

}  // namespace vig
