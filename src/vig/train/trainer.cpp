#include "vig/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/data/loader.h"
#include "vig/data/order.h"
#include "vig/train/agreement.h"
#include "vig/train/gradient_pass.h"
#include "vig/train/pace.h"
#include "vig/train/run_folder.h"
#include "vig/train/run_record.h"
#include "vig/train/train_data.h"
#include "vig/train/validation.h"
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

// Of an epoch; the last may have fewer pictures than the others.
int64_t count_steps(const Dataset& train, const TrainOptions& options, const Group& group) {
  if (options.batch % group.size() != 0) {
    fail_usage("--batch is {}, expected a multiple of the {} processes", options.batch,
               group.size());
  }
  return (static_cast<int64_t>(train.size()) + options.batch - 1) / options.batch;
}

// As far as there are pictures for it: rates that follow the batch follow this.
TrainOptions with_real_batch(TrainOptions options, const Dataset& train) {
  options.batch = static_cast<int>(std::min(static_cast<size_t>(options.batch), train.size()));
  return options;
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
                           (real_batch() / group.size() + workers_.size() - 1) / workers_.size(),
                           model_.size)),
        steps_(total_steps(options.epochs, steps_per_epoch_)),
        schedule_(with_real_batch(options, data_.train), steps_per_epoch_, steps_),
        facts_{options_,
               model_.spec,
               data_,
               data,
               group.size(),
               steps_per_epoch_,
               data_.val.has_value() ? choose_best_by(*data_.val) : BestBy::kTop1},
        folder_(out, run_identity(facts_),
                static_cast<size_t>(model_.parameters.values().numel()) * 4 * sizeof(float),
                group.rank() == 0),
        loader_(std::make_shared<const Dataset>(data_.train), {options.loaders, 3}) {
    eval_steps_ = std::max<int64_t>(
        1, std::llround(options.eval_every * static_cast<double>(steps_per_epoch_)));
    curves_.title = curves_title(out, model_.spec.name, data);
    curves_.balanced = balanced();
    curves_.note = loss_note(options_, model_.drop_path);
  }

  TrainResult run() {
    if (folder_.has_checkpoint()) {
      read_checkpoint(folder_.checkpoint(), state_, model_.parameters, optimizer_);
    }
    check_group();
    if (group_.rank() == 0) folder_.write_record(run_json(facts_, folder_.description()), data_);
    tell_begin();
    Clock::time_point saved = Clock::now();
    while (state_.step < steps_ || state_.row_due) {
      if (!state_.row_due) timed_step();
      reach(RunPoint::kStep);
      bool stop = wants_stop();
      const bool row = state_.row_due && !stop && close_row();
      stop = stop || state_.row_due;  // asked for during validation
      if (row || stop || seconds_since(saved) > 60 * options_.checkpoint_minutes) {
        save();
        saved = Clock::now();
        reach(RunPoint::kSaved);
      }
      if (stop) return {false, state_};
    }
    return {true, state_};
  }

 private:
  bool balanced() const { return facts_.best_by == BestBy::kBalanced; }

  // Of all processes together in a whole step.
  int real_batch() const {
    return static_cast<int>(std::min(static_cast<size_t>(options_.batch), data_.train.size()));
  }

  void reach(RunPoint point) {
    if (events_.reached) events_.reached(point, state_.step);
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
    summary.batch = options_.batch;
    summary.beginning = model_.beginning;
    summary.balanced = balanced();
    const auto& description = folder_.description();
    if (description.contains("extended")) summary.extended = description.at("extended");
    if (data_.val.has_value()) {
      const std::vector<int64_t> counts = class_counts(*data_.val);
      summary.fewest = *std::ranges::min_element(counts);
      summary.most = *std::ranges::max_element(counts);
      for (size_t c = 0; c < counts.size(); ++c) {
        if (counts[c] == 0) summary.unvalidated.push_back(model_.classes[c]);
      }
    }
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
        order, static_cast<size_t>(options_.batch), LastBatch::kKeep, group_.rank(), group_.size());
    const int64_t done = state_.step - epoch * steps_per_epoch_;
    batches.erase(batches.begin(), batches.begin() + done);
    const RandomStream stream =
        RandomStream(options_.seed).fork("augment").fork(static_cast<uint64_t>(epoch));
    loader_.start(
        std::move(batches), picture_floats(model_),
        [this, stream](const Loader::Slot& slot, const Image& image, Target&, float* out) {
          augment(image, model_.spec.recipe, options_.augment, stream.fork(slot.sample), out);
        });
  }

  void tell_problems(const Batch& batch) {
    if (!events_.problem) return;
    for (const Problem& problem : batch.problems) events_.problem(problem.sentence);
  }

  // Pictures of the coming step over all processes, if all can be read: a batch, or what an epoch
  // has left at its end.
  int64_t asked() const {
    const int64_t done = state_.step % steps_per_epoch_ * options_.batch;
    return std::min<int64_t>(options_.batch, static_cast<int64_t>(data_.train.size()) - done);
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
    std::vector<int> labels;
    for (const Target& target : batch->targets) labels.push_back(std::any_cast<int>(target));
    mix_batch(options_.mix, stream.fork("mix"), labels, model_.size, static_cast<int>(classes),
              batch->data, targets.data_ptr<float>());

    const GradientSums sums = compute_gradients(
        {options_, model_, workers_, shards_, group_, parts_, asked()}, *batch, targets, stream);
    if (sums.pictures == 0) {
      fail("none of the pictures of step {} can be read; the last good checkpoint stays",
           state_.step + 1);
    }
    if (!std::isfinite(sums.loss)) {
      fail("the loss of step {} is {}; the last good checkpoint stays (a lower --lr may help)",
           state_.step + 1, sums.loss);
    }
    StepReport report;
    report.lr = schedule_.lr(state_.step);
    report.gradient_norm = optimizer_.step(report.lr);
    if (!std::isfinite(report.gradient_norm)) {
      fail("the gradient of step {} is {}; the last good checkpoint stays (a lower --lr may help)",
           state_.step + 1, report.gradient_norm);
    }
    const int64_t asked_now = asked();
    ++state_.step;
    // Every picture counts the same in the mean of an epoch.
    const double weight = static_cast<double>(asked_now) / real_batch();
    state_.loss_steps += weight;
    state_.loss_sum += weight * sums.loss;
    state_.hits += std::llround(sums.hits);
    state_.seen += std::llround(sums.pictures);
    report.loss = sums.loss;
    return report;
  }

  void timed_step() {
    const Clock::time_point start = Clock::now();
    const int64_t epoch = state_.step / steps_per_epoch_, pictures = asked();
    if (epoch != open_epoch_) begin_epoch(open_epoch_ = epoch);
    StepReport report = step();
    const double took = seconds_since(start);
    state_.seconds += took;
    state_.row_seconds += took;
    state_.row_due = state_.step == steps_ || state_.step % eval_steps_ == 0;
    pace_.add_step(took, pictures);
    if (group_.rank() != 0 || !events_.step) return;
    report.step = state_.step;
    report.steps = steps_;
    report.epoch = static_cast<double>(state_.step) / static_cast<double>(steps_per_epoch_);
    report.images_per_second = pace_.images_per_second();
    report.seconds_left = seconds_left();
    events_.step(report);
  }

  double seconds_left() const {
    WorkLeft left;
    left.steps = steps_ - state_.step;
    left.validations = state_.row_due ? 1 : 0;
    if (left.steps > 0)
      left.validations += (steps_ - 1) / eval_steps_ - state_.step / eval_steps_ + 1;
    left.val_pictures = data_.val.has_value() ? static_cast<int64_t>(data_.val->size()) : 0;
    left.checkpoint_minutes = options_.checkpoint_minutes;
    return pace_.seconds_left(left);
  }

  const at::Tensor& best_values() {
    return optimizer_.average().defined() ? optimizer_.average() : model_.parameters.values();
  }

  // Validation, the new row of metrics, and the best network so far. False: asked to stop before
  // all that was done, and nothing is changed.
  bool close_row() {
    check_weights();
    const Clock::time_point start = Clock::now();
    MetricsRow row;
    row.epoch = static_cast<double>(state_.step) / static_cast<double>(steps_per_epoch_);
    row.step = state_.step;
    row.lr = schedule_.lr(state_.step - 1);
    row.train_loss = state_.loss_steps > 0 ? state_.loss_sum / state_.loss_steps : 0;
    row.train_top1 =
        static_cast<double>(state_.hits) / static_cast<double>(std::max<int64_t>(1, state_.seen));
    row.images_per_second = static_cast<double>(state_.seen) / std::max(1e-9, state_.row_seconds);
    if (data_.val.has_value() && !validate(row)) return false;
    state_.seconds += seconds_since(start);
    row.seconds = state_.seconds;
    state_.loss_sum = state_.loss_steps = 0;
    state_.hits = state_.seen = 0;
    state_.row_seconds = 0;
    state_.row_due = false;
    state_.rows.push_back(row);

    const bool measured = data_.val.has_value();
    const double score = balanced() ? row.val_balanced : row.val_top1;
    const bool better = !measured || score > state_.best_score ||
                        (score == state_.best_score && row.val_loss < state_.best_loss);
    if (better) {
      state_.best_score = measured ? score : -1;
      state_.best_top1 = measured ? row.val_top1 : -1;
      state_.best_loss = row.val_loss;
      state_.best_step = state_.step;
    }
    if (group_.rank() == 0) {
      if (better) write_trained_model(folder_.best(), model_, best_values(), notes(row));
      write_trained_model(folder_.last(), model_, best_values(), notes(row));
      curves_.best_step = state_.best_step;
      folder_.write_metrics(curves_, state_.rows);
    }
    pace_.add_validation(seconds_since(start));
    if (group_.rank() == 0 && events_.row) events_.row(row, seconds_left());
    return true;
  }

  std::map<std::string, std::string> notes(const MetricsRow& row) const {
    std::map<std::string, std::string> notes = {{"epoch", fmt::format("{:.6g}", row.epoch)},
                                                {"step", std::to_string(row.step)}};
    if (std::isfinite(row.val_top1)) notes["val_top1"] = fmt::format("{:.6g}", row.val_top1);
    if (balanced()) notes["val_balanced"] = fmt::format("{:.6g}", row.val_balanced);
    return notes;
  }

  bool validate(MetricsRow& row) {
    if (!validator_) {
      const size_t most = std::min<size_t>(static_cast<size_t>(options_.batch / parts_), 256);
      validator_.emplace(*data_.val, ValidatorParts{options_, model_, workers_, group_},
                         std::max<size_t>(static_cast<size_t>(group_.size()), most));
    }
    return validator_->run(model_.parameters.views_of(best_values()), row, [&](const Batch& batch) {
      reach(RunPoint::kValidation);
      tell_problems(batch);
      return !wants_stop();
    });
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
    const Clock::time_point start = Clock::now();
    write_checkpoint(folder_.checkpoint(), state_, model_.parameters, optimizer_,
                     folder_.description());
    pace_.add_checkpoint(seconds_since(start));
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
  const RunFacts facts_;
  RunFolder folder_;
  Loader loader_;
  std::optional<Validator> validator_;
  RunState state_;
  Pace pace_;
  CurvesInfo curves_;
  int64_t open_epoch_ = -1;
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
