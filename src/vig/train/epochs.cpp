#include "vig/train/epochs.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/data/order.h"

namespace vig::train {
namespace {

int64_t count_steps(int64_t pictures, int batch, const Group& group) {
  if (batch % group.size() != 0) {
    fail_usage("--batch is {}, expected a multiple of the {} processes", batch, group.size());
  }
  return (pictures + batch - 1) / batch;
}

}  // namespace

RandomStream augmentation_stream(const TrainOptions& options, int64_t epoch) {
  return RandomStream(options.seed).fork("augment").fork(static_cast<uint64_t>(epoch));
}

Epochs::Epochs(const Task& task, const TrainOptions& options, Group& group)
    : task_(task),
      options_(options),
      group_(group),
      pictures_(static_cast<int64_t>(task.data().train->size())),
      steps_(count_steps(pictures_, options.batch, group)),
      loader_(task.data().train, {options.loaders, 3}) {}

int64_t Epochs::batch() const { return std::min<int64_t>(options_.batch, pictures_); }

int64_t Epochs::asked(int64_t step) const {
  return std::min<int64_t>(options_.batch, pictures_ - step % steps_ * options_.batch);
}

Batch& Epochs::next(int64_t step) {
  if (const int64_t epoch = step / steps_; epoch != open_) begin(epoch, step);
  Batch* batch = loader_.next();
  if (batch == nullptr) fail("[train] the epoch ended early");
  return *batch;
}

void Epochs::begin(int64_t epoch, int64_t step) {
  open_ = epoch;
  share_reported();
  const std::vector<size_t> order =
      epoch_order(static_cast<size_t>(pictures_), options_.seed, static_cast<uint64_t>(epoch));
  std::vector<std::vector<size_t>> batches = make_batches(
      order, static_cast<size_t>(options_.batch), LastBatch::kKeep, group_.rank(), group_.size());
  batches.erase(batches.begin(), batches.begin() + (step - epoch * steps_));
  const RandomStream stream = augmentation_stream(options_, epoch);
  loader_.start(
      std::move(batches), task_.picture_floats(),
      [this, stream](const Loader::Slot& slot, const Image& image, Target& target, float* out) {
        task_.write_training(image, target, stream.fork(slot.sample), out);
      });
}

// An epoch deals the pictures out anew: what one process has reported, no other reports again.
void Epochs::share_reported() {
  if (group_.size() == 1) return;
  std::vector<double> reported(static_cast<size_t>(pictures_));
  for (const size_t sample : loader_.reported()) reported[sample] = 1;
  group_.sum(reported);
  for (size_t i = 0; i < reported.size(); ++i) {
    if (reported[i] > 0) loader_.reported().insert(i);
  }
}

}  // namespace vig::train
