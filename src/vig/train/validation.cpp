#include "vig/train/validation.h"

#include "vig/base/error.h"
#include "vig/data/order.h"

namespace vig::train {

Validator::Validator(const Task& task, int loaders, Workers& workers, Group& group, size_t batch)
    : task_(task),
      workers_(workers),
      group_(group),
      batch_(batch),
      loader_(task.data().val, {loaders, 3}) {}

std::optional<std::vector<double>> Validator::run(const std::vector<at::Tensor>& values,
                                                  const std::function<bool(const Batch&)>& each) {
  const std::vector<size_t> order = plain_order(loader_.source().size());
  loader_.start(make_batches(order, batch_, LastBatch::kKeep, {group_.rank(), group_.size()}),
                task_.image_floats(), [this](const Loader::Slot&, Sample& sample, float* out) {
                  task_.write_validation(*sample.image, *sample.target, out);
                });
  const std::unique_ptr<Evaluator> evaluator = task_.new_evaluator();
  double images = 0;
  while (const Batch* batch = loader_.next()) {
    if (!each(*batch)) return std::nullopt;
    if (batch->samples.empty()) continue;
    evaluator->add(*batch, values, workers_);
    images += static_cast<double>(batch->samples.size());
  }
  group_.sum({&images, 1});
  if (images == 0) {
    fail("none of the {} validation images can be read; the last good checkpoint stays",
         order.size());
  }
  return evaluator->figures(group_);
}

}  // namespace vig::train
