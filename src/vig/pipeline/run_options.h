// How a network is loaded and run.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "vig/base/memory.h"
#include "vig/runtime/precision.h"

namespace vig {

class ThreadPool;

struct RunOptions {
  int threads = 0;  // of the network and of the decoders; 0: default_threads()
  int batch = 1;    // most images that run together; 0: default_batch
  int size = 0;     // side of the network's input; 0: the one that belongs to the weights
  // Which numbers dense layers are computed with.
  Precision precision = {};
  // How many images there will be, where that is known: memory for more is not taken.
  size_t images = std::numeric_limits<size_t>::max();
  // What sessions of several sizes may take together; see SessionPool.
  uint64_t session_bytes = physical_memory() / 4;
  // Called once if the system starts fewer threads than asked for. Results are the same bits.
  std::function<void(int started, int asked)> on_fewer_threads = {};
  // Threads that other networks use as well; null: this network's own, as many as `threads` says.
  std::shared_ptr<ThreadPool> thread_pool = nullptr;
};

}  // namespace vig
