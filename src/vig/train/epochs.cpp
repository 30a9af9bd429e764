#include "vig/train/epochs.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/train/shard_loop.h"

namespace vig::train {
namespace {

int64_t count_steps(int64_t images, int batch, const Group& group) {
  if (batch < group.size()) {
    fail_usage("--batch is {}, expected at least one image for each of the {} processes", batch,
               group.size());
  }
  return (images + batch - 1) / batch;
}

Deal make_deal(const TrainedModel& model, const TrainOptions& options, int64_t batch,
               const Group& group) {
  Deal deal = {group.rank(), group.size(), images_dealt(model, options, batch, group.size())};
  deal.pairs = options.mix.mixup > 0 || options.mix.cutmix > 0;
  return deal;
}

}  // namespace

std::vector<size_t> epoch_samples(const TaskData& data, const TrainOptions& options,
                                  int64_t epoch) {
  const auto number = static_cast<uint64_t>(epoch);
  if (!data.groups.empty()) return balanced_order(data.groups, options.seed, number);
  if (!data.shards.empty()) return shard_order(data.shards, options.seed, number);
  return epoch_order(data.train->size(), options.seed, number);
}

RandomStream augmentation_stream(const TrainOptions& options, int64_t epoch) {
  return RandomStream(options.seed).fork("augment").fork(static_cast<uint64_t>(epoch));
}

Epochs::Epochs(Task& task, const TrainOptions& options, Group& group)
    : task_(task),
      options_(options),
      group_(group),
      images_(static_cast<int64_t>(task.data().train->size())),
      steps_(count_steps(images_, options.batch, group)),
      deal_(make_deal(task.model(), options, batch(), group)),
      loader_(task.data().train, {options.loaders, 3}) {}

int64_t images_dealt(const TrainedModel& model, const TrainOptions& options, int64_t batch,
                     int processes) {
  return std::min(std::max<int64_t>(1, batch / processes), images_together(model, options));
}

int64_t Epochs::batch() const { return std::min<int64_t>(options_.batch, images_); }

int64_t Epochs::asked(int64_t step) const {
  return std::min<int64_t>(options_.batch, images_ - step % steps_ * options_.batch);
}

Deal Epochs::deal(int64_t step) const {
  Deal deal = deal_;
  deal.batch = asked(step);
  return deal;
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
  const std::vector<size_t> order = epoch_samples(task_.data(), options_, epoch);
  const auto cut = [&](std::span<const size_t> indices) {
    auto batches =
        make_batches(indices, static_cast<size_t>(options_.batch), LastBatch::kKeep, deal_);
    batches.erase(batches.begin(), batches.begin() + (step - epoch * steps_));
    return batches;
  };
  const auto times =
      std::make_shared<const std::vector<std::vector<size_t>>>(cut(times_before(order)));
  const RandomStream stream = augmentation_stream(options_, epoch);
  loader_.start(cut(order), task_.image_floats(),
                [this, stream, times](const Loader::Slot& slot, Sample& sample, float* out) {
                  const size_t before = (*times)[slot.batch][slot.position];
                  const RandomStream own = stream.fork(slot.sample);
                  task_.write_training(*sample.image, *sample.target,
                                       before == 0 ? own : own.fork("again").fork(before), out);
                });
}

// An epoch deals the images out anew: what one process has reported, no other reports again.
void Epochs::share_reported() {
  if (group_.size() == 1) return;
  std::vector<double> reported(static_cast<size_t>(images_));
  for (const size_t sample : loader_.reported()) reported[sample] = 1;
  group_.sum(reported);
  for (size_t i = 0; i < reported.size(); ++i) {
    if (reported[i] > 0) loader_.reported().insert(i);
  }
}

}  // namespace vig::train
