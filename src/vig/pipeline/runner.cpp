#include "vig/pipeline/runner.h"

#include <algorithm>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/data/loader.h"
#include "vig/data/order.h"
#include "vig/image/preprocess.h"

namespace vig {

Runner::Runner(const ModelSource& source, const RunOptions& options)
    : name_(source.name),
      graph_(source.graph),
      spec_(source.spec),
      classes_(source.classes),
      options_(options) {
  check_task(source, ModelTask::kClassify);
  if (options.batch < 0) fail_usage("a batch of {} images, expected at least 1", options.batch);
  if (options.size == 0 && source.has_weights()) check_own_work(source);
  const int size = recipe().crop;
  const bool own = size == spec_.recipe.crop;
  Session first(own ? *source.graph : build_graph(spec_, size, size), source_weights(source),
                session_options(size));
  const int asked = options.threads > 0 ? options.threads : default_threads();
  if (first.threads() < asked && options.on_fewer_threads) {
    options.on_fewer_threads(first.threads(), asked);
  }
  make_pool(std::move(first));
}

SessionOptions Runner::session_options(int size) const {
  SessionOptions session;
  session.batch = batch(size);
  session.threads = options_.threads;
  session.team = options_.team;
  session.precision = options_.precision;
  // While one batch runs, the next is decoded.
  session.slots = options_.images > static_cast<size_t>(session.batch) ? 2 : 1;
  return session;
}

void Runner::make_pool(Session first, std::vector<int> keep) {
  sessions_ = std::make_unique<SessionPool>(
      std::move(first),
      [spec = spec_](int height, int width) { return build_graph(spec, height, width); },
      options_.session_bytes, std::move(keep));
}

Runner Runner::keeping(std::vector<int> nodes) const {
  Runner other;
  other.name_ = name_;
  other.graph_ = graph_;
  other.spec_ = spec_;
  other.classes_ = classes_;
  other.options_ = options_;
  const int size = recipe().crop;
  SessionOptions session = session_options(size);
  session.team = sessions_->shared_team();
  session.keep = nodes;
  other.make_pool(Session(sessions_->shared_model(), build_graph(spec_, size, size), session),
                  std::move(nodes));
  return other;
}

Recipe Runner::recipe(int size) const {
  if (size == 0) size = options_.size;
  if (size == 0) return spec_.recipe;
  check_input_size(size, size);
  return spec_.recipe.with_size(size);
}

int Runner::batch(int size) const {
  const int most = options_.batch != 0 ? options_.batch : default_batch(size);
  return static_cast<int>(std::clamp<size_t>(options_.images, 1, static_cast<size_t>(most)));
}

bool Runner::run(const SampleSource& images, const Pass& pass) const {
  const Recipe recipe = this->recipe(pass.size);
  const ThreadTeam::Share share(*sessions_->shared_team());
  const SessionPool::Lease session = sessions_->take(recipe.crop, recipe.crop, batch(recipe.crop));
  const std::vector<size_t> order = pass.order.empty() ? plain_order(images.size()) : pass.order;
  const auto batches = make_batches(order, static_cast<size_t>(session->batch()), LastBatch::kKeep);
  std::vector<float*> inputs;
  for (int i = 0; i < session->slots(); ++i) inputs.push_back(session->input(0, i));
  // For one image no thread is started, nor where other callers fill the machine.
  const auto threads = static_cast<size_t>(session->threads());
  const bool one_thread = order.size() == 1 || share.alone();
  const int decoders = one_thread ? 0 : static_cast<int>(std::min(threads, order.size()));
  Loader loader({std::shared_ptr<const void>(), &images}, {.workers = decoders});
  loader.start(
      batches,
      static_cast<size_t>(
          session->graph().node(session->graph().inputs.at(0).node).grid.elements()),
      [&](const Loader::Slot&, const Image& image, Target&, float* out) {
        preprocess(image, recipe, out);
      },
      inputs);

  while (const Batch* batch = loader.next()) {
    const size_t good = batch->samples.size();
    if (good > 0) {
      session->run(static_cast<int>(good), static_cast<int>(batch->memory), share.alone());
    }
    auto problem = batch->problems.begin();
    size_t image = 0;
    for (const size_t sample : batches[batch->index]) {
      if (image < good && batch->samples[image] == sample) {
        if (pass.on_values) pass.on_values(sample, *session, static_cast<int>(image));
        ++image;
      } else if (problem != batch->problems.end() && problem->sample == sample) {
        if (pass.on_problem) pass.on_problem(sample, problem->sentence);
        ++problem;
      }
    }
    const bool last = batch->index + 1 == batches.size();
    if (pass.on_batch && !pass.on_batch(batches[batch->index].size()) && !last) return false;
  }
  return true;
}

int default_batch(int size) {
  constexpr int64_t kPixels = 8 * 224 * 224;
  return static_cast<int>(
      std::clamp<int64_t>(kPixels / std::max<int64_t>(int64_t{size} * size, 1), 1, 8));
}

}  // namespace vig
