// The threads of a training process. A batch is cut into as many shards as there are threads, and
// each thread takes its own through the whole network and back: they meet once a step, not at every
// operation, and what a thread works on stays in its cache. LibTorch itself runs on one thread.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "vig/base/thread_pool.h"

namespace vig::train {

class Workers {
 public:
  explicit Workers(int threads);

  int size() const { return pool_.size(); }
  // work(worker) on every thread; the first exception, by worker, is thrown when all are done.
  void each(const std::function<void(int worker)>& work);
  // work(first, last) on parts of [0, count): one a thread, cut at multiples of `grain`.
  void parts(int64_t count, int64_t grain,
             const std::function<void(int64_t first, int64_t last)>& work);

 private:
  ThreadPool pool_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace vig::train
