#include "vig/train/gradient_pass.h"

#include <algorithm>

#include "vig/train/loss.h"
#include "vig/train/validation.h"
#include "vig/train/walk.h"

namespace vig::train {
namespace {

// Forward and backward of the pictures from `begin` to `end` of this process' share of a batch.
// The loss is their part of the mean over the whole batch.
GradientSums shard_step(const GradientPass& pass, Parameters& shard, const Batch& batch,
                        const at::Tensor& targets, int64_t begin, int64_t end,
                        const RandomStream& stream, BatchStatistics* statistics) {
  GradientSums sums;
  if (begin == end) return sums;
  shard.zero_gradients();
  const TrainedModel& model = pass.model;
  const int64_t floats = static_cast<int64_t>(picture_floats(model));
  WalkOptions walk_options;
  walk_options.kernels = pass.options.kernels;
  walk_options.drop_branches = model.drop_path > 0;
  walk_options.seed = stream.bits_at(0);
  walk_options.picture_stride = pass.group.size();
  walk_options.statistics = statistics;
  const int64_t group = inseparable_pictures(model.graph);
  for (int64_t part = 0; part < pass.parts; ++part) {
    const int64_t first = begin + run_begin(end - begin, part, pass.parts, group);
    const int64_t count = begin + run_begin(end - begin, part + 1, pass.parts, group) - first;
    if (count == 0) continue;
    walk_options.first_picture = pass.group.rank() + first * pass.group.size();
    const at::Tensor logits = walk_logits(
        model.graph, shard.views(),
        picture_tensor(batch.data + first * floats, count, model, pass.options), walk_options);
    const at::Tensor expected = targets.narrow(0, first, count).to(logits.device());
    const at::Tensor loss = soft_cross_entropy(logits, expected) *
                            (static_cast<double>(count) / static_cast<double>(pass.asked));
    loss.backward();
    sums.loss += loss.item<double>();
    sums.hits += logits.argmax(1).eq(expected.argmax(1)).sum().item<double>();
    sums.pictures += static_cast<double>(count);
  }
  return sums;
}

}  // namespace

GradientSums compute_gradients(const GradientPass& pass, const Batch& batch,
                               const at::Tensor& targets, const RandomStream& stream) {
  const int64_t count = static_cast<int64_t>(batch.samples.size());
  const Shards& shards = pass.shards;
  std::vector<GradientSums> shard_sums(shards.size());
  const int64_t group = inseparable_pictures(pass.model.graph);
  const auto begin = [&](size_t shard) {
    return run_begin(count, static_cast<int64_t>(shard), static_cast<int64_t>(shards.size()),
                     group);
  };
  int64_t passes = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const int64_t own = begin(i + 1) - begin(i);
    if (own == 0) shards[i].zero_gradients();
    passes += std::min((own + group - 1) / group, pass.parts);
  }
  // A backbone that does not learn keeps its statistics, too.
  const bool moves = group > 1 && !pass.options.probe;
  std::vector<BatchStatistics> statistics(moves ? shards.size() : 0);
  pass.group.begin_reduce(shards.all(), passes);
  pass.workers.each([&](int worker) {
    const size_t i = static_cast<size_t>(worker);
    shard_sums[i] = shard_step(pass, shards[i], batch, targets, begin(i), begin(i + 1), stream,
                               moves ? &statistics[i] : nullptr);
  });
  pass.group.finish_reduce(shards.all());
  if (moves) {
    std::vector<double> sums_of_groups = statistic_sums(pass.model.graph, statistics);
    pass.group.sum(sums_of_groups);
    move_running_statistics(pass.model.graph, sums_of_groups, shards[0]);
  }
  double sums[3] = {0, 0, 0};  // loss, hits, pictures
  for (const GradientSums& part : shard_sums) {
    sums[0] += part.loss;
    sums[1] += part.hits;
    sums[2] += part.pictures;
  }
  pass.group.sum(sums);
  const double asked = static_cast<double>(pass.asked);
  if (sums[2] > 0 && sums[2] < asked) {
    sums[0] *= asked / sums[2];
    shards[0].gradients().mul_(asked / sums[2]);
  }
  return {sums[0], sums[1], sums[2]};
}

// What backward needs of a pass must be kept, some
// 75 MB a picture for vig_t at 224. Other devices take all at once.
int64_t count_parts(const TrainOptions& options, int pictures, int size) {
  if (options.parts > 0) return options.parts;
  if (options.device != "cpu") return 1;
  constexpr int64_t kPixels = 8 * 224 * 224, kPictures = 16;
  const int64_t most = std::clamp<int64_t>(kPixels / size / size, 1, kPictures);
  return (pictures + most - 1) / most;
}

}  // namespace vig::train
