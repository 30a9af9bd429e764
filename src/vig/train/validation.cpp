#include "vig/train/validation.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/data/order.h"
#include "vig/image/preprocess.h"
#include "vig/tasks/metrics.h"
#include "vig/train/walk.h"

namespace vig::train {

BestBy choose_best_by(const Dataset& validation) {
  const std::vector<int64_t> counts = class_counts(validation);
  const bool even =
      std::ranges::all_of(counts, [&](int64_t count) { return count == counts.front(); });
  return even ? BestBy::kTop1 : BestBy::kBalanced;
}

const char* best_by_text(BestBy best_by) {
  return best_by == BestBy::kTop1 ? "top-1" : "balanced accuracy";
}

std::vector<int64_t> class_counts(const Dataset& dataset) {
  std::vector<int64_t> counts(dataset.classes().size());
  for (size_t i = 0; i < dataset.size(); ++i) ++counts[static_cast<size_t>(dataset.label(i))];
  return counts;
}

double balanced_accuracy(std::span<const double> pictures, std::span<const double> correct) {
  double sum = 0, classes = 0;
  for (size_t c = 0; c < pictures.size(); ++c) {
    if (pictures[c] == 0) continue;
    sum += correct[c] / pictures[c];
    ++classes;
  }
  return classes == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / classes;
}

at::Tensor picture_tensor(const float* data, int64_t count, const TrainedModel& model,
                          const TrainOptions& options) {
  return at::from_blob(const_cast<float*>(data), {count, model.size, model.size, 3}, at::kFloat)
      .to(at::Device(options.device));
}

size_t picture_floats(const TrainedModel& model) {
  return static_cast<size_t>(model.size) * static_cast<size_t>(model.size) * 3;
}

Validator::Validator(const Dataset& data, const ValidatorParts& parts, size_t batch)
    : parts_(parts),
      batch_(batch),
      loader_(std::make_shared<const Dataset>(data), {parts.options.loaders, 3}) {}

bool Validator::run(const std::vector<at::Tensor>& values, MetricsRow& row,
                    const std::function<bool(const Batch&)>& each) {
  const TrainOptions& options = parts_.options;
  const TrainedModel& model = parts_.model;
  Group& group = parts_.group;
  const std::vector<size_t> order = plain_order(loader_.source().size());
  const size_t floats = picture_floats(model);
  loader_.start(make_batches(order, batch_, LastBatch::kKeep, group.rank(), group.size()), floats,
                [recipe = model.spec.recipe](const Loader::Slot&, const Image& image, Target&,
                                             float* out) { preprocess(image, recipe, out); });
  WalkOptions walk_options;
  walk_options.kernels = options.kernels;
  const auto classes = static_cast<int64_t>(model.classes.size());
  ClassificationMetrics metrics(static_cast<int>(classes));
  while (Batch* next = loader_.next()) {
    if (!each(*next)) return false;
    const int64_t count = static_cast<int64_t>(next->samples.size());
    if (count == 0) continue;
    at::Tensor logits = at::empty({count, classes}, at::kFloat);
    parts_.workers.parts(count, 1, [&](int64_t first, int64_t last) {
      at::NoGradGuard no_grad;
      const float* from = next->data + first * static_cast<int64_t>(floats);
      logits.narrow(0, first, last - first)
          .copy_(walk_logits(model.graph, values,
                             picture_tensor(from, last - first, model, options), walk_options));
    });
    for (int64_t i = 0; i < count; ++i) {
      metrics.add({logits.data_ptr<float>() + i * classes, static_cast<size_t>(classes)},
                  std::any_cast<int>(next->targets[static_cast<size_t>(i)]));
    }
  }
  // Four sums, then the pictures of each class and how many of them were recognised.
  std::vector<double> sums = {static_cast<double>(metrics.count),
                              static_cast<double>(metrics.top1_hits),
                              static_cast<double>(metrics.top5_hits), metrics.loss_sum};
  const std::vector<ClassMetrics> per_class = metrics.per_class();
  for (const ClassMetrics& c : per_class) sums.push_back(static_cast<double>(c.count));
  for (const ClassMetrics& c : per_class) sums.push_back(static_cast<double>(c.correct));
  group.sum(sums);
  if (sums[0] == 0) {
    fail("none of the {} validation pictures can be read; the last good checkpoint stays",
         order.size());
  }
  row.val_top1 = sums[1] / sums[0];
  row.val_top5 = sums[2] / sums[0];
  row.val_loss = sums[3] / sums[0];
  const std::span<const double> by_class = std::span(sums).subspan(4);
  row.val_balanced =
      balanced_accuracy(by_class.first(per_class.size()), by_class.subspan(per_class.size()));
  return true;
}

}  // namespace vig::train
