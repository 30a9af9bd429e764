#include "vig/train/workers.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "vig/base/error.h"
#include "vig/kernels/denormals.h"

namespace vig::train {

Workers::Workers(int threads) : pool_(threads), errors_(static_cast<size_t>(threads)) {
  // The weights depend on how a batch is cut into shards, so fewer threads would train another
  // network.
  if (pool_.size() < threads) {
    fail("{} of {} threads can be started: the system's limit of threads or of memory is reached",
         pool_.size(), threads);
  }
  each([](int) { at::set_num_threads(1); });  // every thread has a setting of its own
}

void Workers::each(const std::function<void(int worker)>& work) {
  pool_.run([&](int worker) {
    const FlushDenormals flush;  // as in the engine
    try {
      work(worker);
    } catch (...) {
      errors_[static_cast<size_t>(worker)] = std::current_exception();
    }
  });
  std::exception_ptr first;
  for (std::exception_ptr& error : errors_) {
    if (!first) first = error;
    error = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

void Workers::parts(int64_t count, int64_t grain,
                    const std::function<void(int64_t first, int64_t last)>& work) {
  const int64_t grains = (count + grain - 1) / grain;
  each([&](int worker) {
    const int64_t first = grains * worker / size() * grain;
    const int64_t last = std::min(count, grains * (worker + 1) / size() * grain);
    if (first < last) work(first, last);
  });
}

}  // namespace vig::train
