// The processes that train one network together. A process alone is a group of one.
#pragma once

#include <span>

#include "vig/train/parameters.h"

namespace vig::train {

class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  // The gradients of the coming backward pass are to be summed over all processes as they appear.
  virtual void begin_reduce(Parameters&) {}
  // Returns when every gradient is the sum over all processes.
  virtual void finish_reduce(Parameters&) {}
  // Sums numbers over all processes.
  virtual void sum(std::span<double>) {}
};

}  // namespace vig::train
