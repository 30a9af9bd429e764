#include "vig/train/trainer.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/data/loader.h"
#include "vig/data/order.h"
#include "vig/image/preprocess.h"
#include "vig/tasks/metrics.h"
#include "vig/train/agreement.h"
#include "vig/train/loss.h"
#include "vig/train/run_folder.h"
#include "vig/train/train_data.h"
#include "vig/train/trained_model.h"
#include "vig/train/walk.h"
#include "vig/train/workers.h"

namespace vig::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Other devices than the CPU want one large batch, from one thread.
int thread_count(const TrainOptions& options) {
  if (options.device != "cpu") return 1;
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// Passes of a thread over its pictures of a step: what backward needs of a pass must be kept, some
// 75 MB a picture for vig_t at 224. Other devices take all at once.
int64_t count_parts(const TrainOptions& options, int pictures, int size) {
  if (options.parts > 0) return options.parts;
  if (options.device != "cpu") return 1;
  constexpr int64_t kPixels = 8 * 224 * 224, kPictures = 16;
  const int64_t most = std::clamp<int64_t>(kPixels / size / size, 1, kPictures);
  return (pictures + most - 1) / most;
}

// Of an epoch; whole batches only.
int64_t count_steps(const Dataset& train, const TrainOptions& options, const Group& group) {
  if (options.batch % group.size() != 0) {
    fail_usage("--batch is {}, expected a multiple of the {} processes", options.batch,
               group.size());
  }
  const int64_t steps = static_cast<int64_t>(train.size()) / options.batch;
  if (steps == 0) {
    fail("{} training pictures are fewer than one batch of {} (see --recipe small and --batch)",
         train.size(), options.batch);
  }
  return steps;
}

class Run {
 public:
  Run(const TrainOptions& options, const std::string& data, const std::string& out,
      const TrainEvents& events, Group& group)
      : options_(options),
        events_(events),
        group_(group),
        data_(open_train_data(data, options, group.local_size())),
        model_(make_trained_model(options, data_.train.classes())),
        workers_(thread_count(options)),
        shards_(model_.parameters, workers_.size()),
        optimizer_(options, model_.parameters, workers_),
        steps_per_epoch_(count_steps(data_.train, options, group)),
        parts_(count_parts(options,
                           (options.batch / group.size() + workers_.size() - 1) / workers_.size(),
                           model_.size)),
        steps_(static_cast<int64_t>(
            std::ceil(options.epochs * static_cast<double>(steps_per_epoch_) - 1e-9))),
        schedule_(options, steps_per_epoch_, steps_),
        folder_(out, identity(), record(data),
                static_cast<size_t>(model_.parameters.values().numel()) * 4 * sizeof(float),
                group.rank() == 0),
        loader_(data_.train, {options.loaders, 3}) {
    eval_steps_ = std::max<int64_t>(
        1, std::llround(options.eval_every * static_cast<double>(steps_per_epoch_)));
  }

  TrainResult run() {
    if (folder_.has_checkpoint()) {
      read_checkpoint(folder_.checkpoint(), state_, model_.parameters, optimizer_);
    }
    check_group();
    tell_begin();
    Clock::time_point saved = Clock::now();
    int64_t open_epoch = -1;
    bool first = true;
    while (state_.step < steps_) {
      const Clock::time_point start = Clock::now();
      const int64_t epoch = state_.step / steps_per_epoch_;
      if (epoch != open_epoch) begin_epoch(open_epoch = epoch);
      const StepReport report = step();
      const double took = seconds_since(start);
      state_.seconds += took;
      state_.row_seconds += took;
      tell_step(report, took, first);
      first = false;
      const bool end = state_.step == steps_;
      const bool row = end || state_.step % eval_steps_ == 0;
      if (row) close_row();
      const bool stop = wants_stop();
      if (row || stop || seconds_since(saved) > 60 * options_.checkpoint_minutes) {
        save();
        saved = Clock::now();
      }
      if (stop && !end) return {false, state_};
    }
    return {true, state_};
  }

 private:
  // Everything the run was told.
  std::map<std::string, std::string> record(const std::string& data) const {
    std::map<std::string, std::string> record = option_texts(options_);
    for (const auto& [field, value] : model_fields(model_.spec)) record["model." + field] = value;
    record["data"] = data;
    record["processes"] = std::to_string(group_.size());
    record["train_pictures"] = std::to_string(data_.train.size());
    record["train_names"] = listing_mark(data_.train);
    if (data_.val.has_value()) record["val_names"] = listing_mark(*data_.val);
    return record;
  }

  // That of it which changes the result: not where the data lies, how far apart checkpoints are and
  // who loads pictures.
  std::map<std::string, std::string> identity() const {
    std::map<std::string, std::string> identity = record("");
    for (const char* name : {"data", "checkpoint-minutes", "group-timeout", "loaders"}) {
      identity.erase(name);
    }
    return identity;
  }

  void check_group() {
    if (group_.size() == 1) return;
    std::map<std::string, std::string> facts = folder_.description();
    facts.erase("threads");  // machines may have more or fewer
    facts["the step to go on from"] = std::to_string(state_.step);
    facts["the weights to begin with"] = values_mark(model_.parameters.values());
    check_agreement(group_, facts);
  }

  void tell_begin() {
    if (group_.rank() != 0 || !events_.begin) return;
    RunSummary summary;
    summary.model = model_.spec.name;
    summary.parameters = model_.graph.param_count();
    summary.size = model_.size;
    summary.classes = model_.classes.size();
    summary.train_pictures = data_.train.size();
    summary.val_pictures = data_.val.has_value() ? data_.val->size() : 0;
    summary.ignored_files = data_.ignored;
    summary.steps_per_epoch = steps_per_epoch_;
    summary.steps = steps_;
    summary.first_step = state_.step;
    summary.warmup_steps = schedule_.warmup();
    events_.begin(summary);
  }

  // A stop must be the decision of all, or some would wait for the others for ever.
  bool wants_stop() {
    double stop = events_.stop && events_.stop() ? 1 : 0;
    group_.sum({&stop, 1});
    return stop > 0;
  }

  // An epoch deals the pictures out anew: what one process has reported, no other reports again.
  void share_reported() {
    if (group_.size() == 1) return;
    std::vector<double> reported(data_.train.size());
    for (const size_t sample : loader_.reported()) reported[sample] = 1;
    group_.sum(reported);
    for (size_t i = 0; i < reported.size(); ++i) {
      if (reported[i] > 0) loader_.reported().insert(i);
    }
  }

  void begin_epoch(int64_t epoch) {
    share_reported();
    const std::vector<size_t> order =
        epoch_order(data_.train.size(), options_.seed, static_cast<uint64_t>(epoch));
    std::vector<std::vector<size_t>> batches = make_batches(
        order, static_cast<size_t>(options_.batch), LastBatch::kDrop, group_.rank(), group_.size());
    const int64_t done = state_.step - epoch * steps_per_epoch_;
    batches.erase(batches.begin(), batches.begin() + done);
    const RandomStream stream =
        RandomStream(options_.seed).fork("augment").fork(static_cast<uint64_t>(epoch));
    loader_.start(std::move(batches), picture_floats(),
                  [this, stream](const Loader::Slot& slot, const Image& image, float* out) {
                    augment(image, model_.spec.recipe, options_.augment, stream.fork(slot.sample),
                            out);
                  });
  }

  size_t picture_floats() const { return static_cast<size_t>(model_.size) * model_.size * 3; }

  at::Tensor pictures(const float* data, int64_t count) const {
    return at::from_blob(const_cast<float*>(data), {count, model_.size, model_.size, 3}, at::kFloat)
        .to(at::Device(options_.device));
  }

  void tell_problems(Batch& batch) {
    if (!events_.problem) return;
    for (const Problem& problem : batch.problems) events_.problem(problem.sentence);
  }

  struct PartSums {
    double loss = 0, hits = 0, pictures = 0;
  };

  // Forward and backward of the pictures from `begin` to `end` of this process' share of a batch.
  PartSums shard_step(Parameters& shard, const Batch& batch, const at::Tensor& targets,
                      int64_t begin, int64_t end, const RandomStream& stream) {
    PartSums sums;
    if (begin == end) return sums;
    shard.zero_gradients();
    WalkOptions walk_options;
    walk_options.kernels = options_.kernels;
    walk_options.drop_path = model_.drop_path;
    walk_options.seed = stream.bits_at(0);
    walk_options.picture_stride = group_.size();
    for (int64_t part = 0; part < parts_; ++part) {
      const int64_t first = begin + (end - begin) * part / parts_;
      const int64_t count = begin + (end - begin) * (part + 1) / parts_ - first;
      if (count == 0) continue;
      walk_options.first_picture = group_.rank() + first * group_.size();
      const at::Tensor logits =
          walk_logits(model_.graph, shard.views(),
                      pictures(batch.data + first * static_cast<int64_t>(picture_floats()), count),
                      walk_options);
      const at::Tensor expected = targets.narrow(0, first, count).to(logits.device());
      // The mean over the whole batch, of which this is a part.
      const at::Tensor loss =
          soft_cross_entropy(logits, expected) * (static_cast<double>(count) / options_.batch);
      loss.backward();
      sums.loss += loss.item<double>();
      sums.hits += logits.argmax(1).eq(expected.argmax(1)).sum().item<double>();
      sums.pictures += static_cast<double>(count);
    }
    return sums;
  }

  StepReport step() {
    Batch* batch = loader_.next();
    if (batch == nullptr) fail("[train] the epoch ended early");
    tell_problems(*batch);
    const int64_t count = static_cast<int64_t>(batch->samples.size());
    const int64_t classes = static_cast<int64_t>(model_.classes.size());
    at::Tensor targets = at::empty({count, classes}, at::kFloat);
    const RandomStream stream =
        RandomStream(options_.seed).fork("step").fork(static_cast<uint64_t>(state_.step));
    mix_batch(options_.mix, stream.fork("mix"), batch->labels, model_.size,
              static_cast<int>(classes), batch->data, targets.data_ptr<float>());

    std::vector<PartSums> shard_sums(shards_.size());
    const auto begin = [&](size_t shard) {
      return count * static_cast<int64_t>(shard) / static_cast<int64_t>(shards_.size());
    };
    int64_t passes = 0;
    for (size_t i = 0; i < shards_.size(); ++i) {
      const int64_t own = begin(i + 1) - begin(i);
      if (own == 0) shards_[i].zero_gradients();
      passes += std::min(own, parts_);
    }
    group_.begin_reduce(shards_.all(), passes);
    workers_.each([&](int worker) {
      const size_t i = static_cast<size_t>(worker);
      shard_sums[i] = shard_step(shards_[i], *batch, targets, begin(i), begin(i + 1), stream);
    });
    group_.finish_reduce(shards_.all());
    double sums[3] = {0, 0, 0};  // loss, hits, pictures
    for (const PartSums& part : shard_sums) {
      sums[0] += part.loss;
      sums[1] += part.hits;
      sums[2] += part.pictures;
    }
    group_.sum(sums);
    if (sums[2] == 0) {
      fail("none of the pictures of step {} can be read; the last good checkpoint stays",
           state_.step + 1);
    }
    if (!std::isfinite(sums[0])) {
      fail("the loss of step {} is {}; the last good checkpoint stays (a lower --lr may help)",
           state_.step + 1, sums[0]);
    }
    // The mean over those that can be read.
    if (sums[2] < options_.batch) {
      const double share = options_.batch / sums[2];
      sums[0] *= share;
      shards_[0].gradients().mul_(share);
    }
    StepReport report;
    report.lr = schedule_.lr(state_.step);
    report.gradient_norm = optimizer_.step(report.lr);
    if (!std::isfinite(report.gradient_norm)) {
      fail("the gradient of step {} is {}; the last good checkpoint stays (a lower --lr may help)",
           state_.step + 1, report.gradient_norm);
    }
    ++state_.step;
    ++state_.loss_steps;
    state_.loss_sum += sums[0];
    state_.hits += std::llround(sums[1]);
    state_.seen += std::llround(sums[2]);
    report.loss = sums[0];
    return report;
  }

  void tell_step(StepReport report, double took, bool first) {
    // The first step also warms up; the average forgets within some tens of steps.
    pace_ = first || pace_ == 0 ? took : 0.95 * pace_ + 0.05 * took;
    if (group_.rank() != 0 || !events_.step) return;
    report.step = state_.step;
    report.steps = steps_;
    report.epoch = static_cast<double>(state_.step) / static_cast<double>(steps_per_epoch_);
    report.images_per_second = options_.batch / pace_;
    report.seconds_left = pace_ * static_cast<double>(steps_ - state_.step);
    events_.step(report);
  }

  const at::Tensor& best_values() {
    return optimizer_.average().defined() ? optimizer_.average() : model_.parameters.values();
  }

  // Validation, the new row of metrics, and the best network so far.
  void close_row() {
    check_weights();
    MetricsRow row;
    row.epoch = static_cast<double>(state_.step) / static_cast<double>(steps_per_epoch_);
    row.step = state_.step;
    row.lr = schedule_.lr(state_.step - 1);
    row.train_loss = state_.loss_sum / static_cast<double>(std::max<int64_t>(1, state_.loss_steps));
    row.train_top1 =
        static_cast<double>(state_.hits) / static_cast<double>(std::max<int64_t>(1, state_.seen));
    row.images_per_second = static_cast<double>(state_.seen) / std::max(1e-9, state_.row_seconds);
    const Clock::time_point start = Clock::now();
    if (data_.val.has_value()) validate(row);
    state_.seconds += seconds_since(start);
    row.seconds = state_.seconds;
    state_.loss_sum = 0;
    state_.hits = state_.seen = state_.loss_steps = 0;
    state_.row_seconds = 0;
    state_.rows.push_back(row);

    const bool measured = data_.val.has_value();
    const bool better = !measured || row.val_top1 > state_.best_top1 ||
                        (row.val_top1 == state_.best_top1 && row.val_loss < state_.best_loss);
    if (better) {
      state_.best_top1 = measured ? row.val_top1 : -1;
      state_.best_loss = row.val_loss;
      state_.best_step = state_.step;
    }
    if (group_.rank() != 0) return;
    if (better) write_trained_model(folder_.best(), model_, best_values(), notes(row));
    write_trained_model(folder_.last(), model_, best_values(), notes(row));
    folder_.write_metrics(model_.spec.name, state_.rows);
    if (events_.row) events_.row(row);
  }

  std::map<std::string, std::string> notes(const MetricsRow& row) const {
    std::map<std::string, std::string> notes = {{"epoch", fmt::format("{:.6g}", row.epoch)},
                                                {"step", std::to_string(row.step)}};
    if (std::isfinite(row.val_top1)) notes["val_top1"] = fmt::format("{:.6g}", row.val_top1);
    return notes;
  }

  void validate(MetricsRow& row) {
    const std::vector<at::Tensor> values = model_.parameters.views_of(best_values());
    const std::vector<size_t> order = plain_order(data_.val->size());
    const size_t batch =
        std::max<size_t>(static_cast<size_t>(group_.size()),
                         std::min<size_t>(static_cast<size_t>(options_.batch / parts_), 256));
    // One for all validations, so that a bad file is reported once.
    if (!val_loader_) val_loader_.emplace(*data_.val, LoaderOptions{options_.loaders, 3});
    val_loader_->start(make_batches(order, batch, LastBatch::kKeep, group_.rank(), group_.size()),
                       picture_floats(),
                       [this](const Loader::Slot&, const Image& image, float* out) {
                         preprocess(image, model_.spec.recipe, out);
                       });
    WalkOptions walk_options;
    walk_options.kernels = options_.kernels;
    ClassificationMetrics metrics(static_cast<int>(model_.classes.size()));
    while (Batch* next = val_loader_->next()) {
      tell_problems(*next);
      const int64_t count = static_cast<int64_t>(next->samples.size());
      if (count == 0) continue;
      const int64_t classes = static_cast<int64_t>(model_.classes.size());
      at::Tensor logits = at::empty({count, classes}, at::kFloat);
      workers_.parts(count, 1, [&](int64_t first, int64_t last) {
        at::NoGradGuard no_grad;
        const float* from = next->data + first * static_cast<int64_t>(picture_floats());
        logits.narrow(0, first, last - first)
            .copy_(walk_logits(model_.graph, values, pictures(from, last - first), walk_options));
      });
      for (int64_t i = 0; i < count; ++i) {
        metrics.add({logits.data_ptr<float>() + i * classes, static_cast<size_t>(classes)},
                    next->labels[static_cast<size_t>(i)]);
      }
    }
    double sums[4] = {static_cast<double>(metrics.count), static_cast<double>(metrics.top1_hits),
                      static_cast<double>(metrics.top5_hits), metrics.loss_sum};
    group_.sum(sums);
    if (sums[0] == 0) {
      fail("none of the {} validation pictures can be read; the last good checkpoint stays",
           data_.val->size());
    }
    row.val_top1 = sums[1] / sums[0];
    row.val_top5 = sums[2] / sums[0];
    row.val_loss = sums[3] / sums[0];
  }

  // The loss shows it a step late: nothing that is broken may replace what is good.
  void check_weights() {
    if (std::isfinite(model_.parameters.values().sum().item<double>())) return;
    fail(
        "the weights are not finite after step {}; the last good checkpoint stays (a lower --lr "
        "may help)",
        state_.step);
  }

  void save() {
    check_weights();
    if (group_.rank() != 0) return;
    write_checkpoint(folder_.checkpoint(), state_, model_.parameters, optimizer_,
                     folder_.description());
  }

  const TrainOptions options_;
  const TrainEvents& events_;
  Group& group_;
  TrainData data_;
  TrainedModel model_;
  Workers workers_;
  Shards shards_;
  AdamW optimizer_;
  const int64_t steps_per_epoch_, parts_, steps_;
  int64_t eval_steps_ = 1;
  const Schedule schedule_;
  RunFolder folder_;
  Loader loader_;
  std::optional<Loader> val_loader_;
  RunState state_;
  double pace_ = 0;
};

}  // namespace

TrainResult train(const TrainOptions& options, const std::string& data, const std::string& out,
                  const TrainEvents& events, Group& group) {
  check_options(options);
  check_device(options.device);
  check_apart(data, out);
  return Run(options, data, out, events, group).run();
}

}  // namespace vig::train
