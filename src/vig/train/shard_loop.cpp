#include "vig/train/shard_loop.h"

#include <algorithm>

#include "vig/torch/batch_norm.h"

namespace vig::train {
namespace {

// Sums over images: loss / asked, number of images, processes that ask to stop, then the figures.
using Sums = std::vector<double>;
constexpr size_t kLoss = 0, kImages = 1, kStops = 2, kFigures = 3;

// Forward and backward passes over the images from `begin` to `end`.
void run_shard(const ShardLoop& loop, size_t shard, int64_t begin, int64_t end, int64_t asked,
               const ShardLoss& loss, Sums& sums) {
  Parameters& parameters = loop.shards[shard];
  parameters.zero_gradients();
  const auto start = [&](int64_t pass) {
    return begin + run_begin(end - begin, pass, loop.passes, loop.inseparable);
  };
  for (int64_t pass = 0; pass < loop.passes; ++pass) {
    const int64_t first = start(pass), count = start(pass + 1) - first;
    if (count == 0) continue;
    // These images' part of the mean over the whole step.
    const ShardWork work{shard, parameters.views(), first, count,
                         std::span(sums).subspan(kFigures)};
    const at::Tensor part = loss(work) * (static_cast<double>(count) / static_cast<double>(asked));
    part.backward();
    sums[kLoss] += part.item<double>();
    sums[kImages] += static_cast<double>(count);
  }
}

}  // namespace

StepSums run_shards(const ShardLoop& loop, int64_t images, int64_t asked, const ShardLoss& loss) {
  const Shards& shards = loop.shards;
  std::vector<Sums> shard_sums(shards.size(), Sums(kFigures + loop.figures));
  const auto begin = [&](size_t shard) {
    return run_begin(images, static_cast<int64_t>(shard), static_cast<int64_t>(shards.size()),
                     loop.inseparable);
  };
  int64_t backward_passes = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const int64_t own = begin(i + 1) - begin(i);
    if (own == 0) shards[i].zero_gradients();
    backward_passes += std::min((own + loop.inseparable - 1) / loop.inseparable, loop.passes);
  }
  loop.group.begin_reduce(shards.all(), backward_passes);
  loop.workers.each([&](int worker) {
    const size_t i = static_cast<size_t>(worker);
    if (begin(i) == begin(i + 1)) return;
    run_shard(loop, i, begin(i), begin(i + 1), asked, loss, shard_sums[i]);
  });
  Sums sums(kFigures + loop.figures);
  for (const Sums& part : shard_sums) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  sums[kStops] = loop.stop && loop.stop() ? 1 : 0;
  loop.group.finish_reduce(shards.all(), sums);
  const double all = static_cast<double>(asked);
  if (sums[kImages] > 0 && sums[kImages] < all) {
    sums[kLoss] *= all / sums[kImages];
    shards[0].gradients().mul_(all / sums[kImages]);
  }
  return {sums[kLoss], sums[kImages], {sums.begin() + kFigures, sums.end()}, sums[kStops] > 0};
}

// Losses of dense networks are normalised group by group, as batch norms are. One of the two groups
// divides the other.
int64_t images_together(const TrainedModel& model, const TrainOptions& options) {
  if (model.spec.config->task() != ModelTask::kClassify) {
    return std::max(options.norm_group, loss_group(options));
  }
  return inseparable_images(model.graphs, options.norm_group);
}

// What a backward pass needs must be kept, some 75 MB an image for vig_t at 224, and several times
// as much a pixel for a dense network: one group at a time. Other devices take all images at
// once.
int64_t count_passes(const TrainOptions& options, int64_t images, const TrainedModel& model) {
  if (options.accumulate > 0) return options.accumulate;
  if (options.device != "cpu") return 1;
  constexpr int64_t kPixels = 8 * 224 * 224, kMostImages = 16;
  const bool dense = model.spec.config->task() != ModelTask::kClassify;
  const int64_t most =
      dense ? images_together(model, options)
            : std::clamp<int64_t>(kPixels / model.height / model.width, 1, kMostImages);
  return (images + most - 1) / most;
}

}  // namespace vig::train
