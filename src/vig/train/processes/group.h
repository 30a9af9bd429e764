// The processes that train one network together. A process alone is a group of one.
#pragma once

#include <span>
#include <string>

#include "vig/base/error.h"
#include "vig/base/processors.h"
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
  virtual int hosts() const { return 1; }       // that the processes run on
  // One process of each host does what a host needs once.
  virtual bool first_of_host() const { return true; }
  // As messages name it: "process 1", and its host where there are several.
  virtual std::string name(int rank) const { return fmt::format("process {}", rank); }
  // Of this process, if it is to use its share of the processors of its host.
  virtual int threads() const { return default_threads(); }
  // The gradients of the coming backward passes, so many of all shards together, are to be summed
  // over all shards and processes as they appear. The shards are the same at every call. One that
  // has no pass has zeros by now.
  virtual void begin_reduce(std::span<Parameters* const>, int64_t /*passes*/) {}
  // Returns when the gradients of the first shard are the sum over all shards and processes, and
  // `sums` over all processes: one wait for both.
  virtual void finish_reduce(std::span<Parameters* const> shards, std::span<double> /*sums*/) {
    for (Parameters* shard : shards.subspan(1)) {
      shards[0]->gradients().add_(shard->gradients());
    }
  }
  // Sums values over all processes.
  virtual void sum(std::span<double>) {}
};

}  // namespace vig::train
