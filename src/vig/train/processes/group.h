// The processes that train one network together. A process alone is a group of one.
#pragma once

#include <span>

#include "vig/base/error.h"
#include "vig/torch/parameters.h"

namespace vig::train {

// The others cannot be reached any more: one has died, stands still, or lost its network.
class GroupLost : public Error {
 public:
  explicit GroupLost(const std::string& message) : Error(ErrorCode::kInput, message) {}
};

// All processes make the same calls in the same order. Calls that need the others throw GroupLost.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  virtual int local_size() const { return 1; }  // on this machine, as far as it is known
  // The gradients of the coming backward passes, so many of all shards together, are to be summed
  // over all shards and processes as they appear. The shards are the same at every call. One that
  // has no pass has zeros by now.
  virtual void begin_reduce(std::span<Parameters* const>, int64_t /*passes*/) {}
  // Returns when the gradients of the first shard are the sum over all shards and processes.
  virtual void finish_reduce(std::span<Parameters* const> shards) {
    for (Parameters* shard : shards.subspan(1)) {
      shards[0]->gradients().add_(shard->gradients());
    }
  }
  // Sums values over all processes.
  virtual void sum(std::span<double>) {}
};

}  // namespace vig::train
