#include "vig/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/train/best_network.h"
#include "vig/train/contents_mark.h"
#include "vig/train/pace.h"
#include "vig/train/preview.h"
#include "vig/train/processes/agreement.h"
#include "vig/train/run_folder.h"
#include "vig/train/run_record.h"
#include "vig/train/steps.h"
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
  return default_threads();
}

class Run {
 public:
  Run(std::unique_ptr<Task> task, const TrainOptions& options, const std::string& data,
      const std::string& out, const TrainEvents& events, Group& group)
      : options_(with_real_size(options, task->model().spec.recipe)),
        events_(events),
        group_(group),
        task_(std::move(task)),
        model_(task_->model()),
        workers_(thread_count(options)),
        steps_(*task_, options_, workers_, group),
        eval_steps_(std::max<int64_t>(
            1, std::llround(options.eval_every * static_cast<double>(steps_.per_epoch())))),
        facts_{options_,     model_.spec,        task_->data(),    data,
               group.size(), steps_.per_epoch(), task_->best_by(), split_groups()},
        folder_(out, run_identity(facts_),
                static_cast<size_t>(model_.parameters.values().numel()) * 4 * sizeof(float),
                group.rank() == 0),
        plan_begin_(plan_begin(folder_.description())),
        curves_{curves_title(out, model_.spec.name, data), task_->loss_note(), task_->columns()},
        state_(new_state(task_->columns())) {}

  TrainResult run() {
    if (folder_.has_checkpoint()) {
      state_ = read_checkpoint(folder_.checkpoint(), task_->columns(), model_.parameters,
                               steps_.optimizer());
    }
    check_group();
    if (group_.rank() == 0) {
      write_record();
      if (options_.preview > 0) write_preview(*task_, options_, folder_.path());
      if (events_.begin) events_.begin(summary());
    }
    Clock::time_point saved = Clock::now();
    while ((state_.step < steps_.count() || state_.row_due) && !stopped_early()) {
      bool stop = state_.row_due ? wants_stop() : timed_step();
      const bool row = state_.row_due && !stop && close_row();
      stop = stop || state_.row_due;  // asked for during validation
      if (row || stop || seconds_since(saved) > 60 * options_.checkpoint_minutes) {
        save();
        saved = Clock::now();
      }
      if (stop) return {false, false, state_, best_sentence(), best_note()};
    }
    if (stopped_early() && group_.rank() == 0) write_record();
    return {true, stopped_early(), state_, best_sentence(), best_note()};
  }

 private:
  bool validates() const { return task_->data().val != nullptr; }

  // The rows of metrics say so, hence it is the same for a run that was interrupted.
  bool stopped_early() const {
    const MetricsRow* high = options_.patience > 0 ? highest() : nullptr;
    return high != nullptr && state_.step < steps_.count() && !state_.row_due &&
           state_.rows_since(high->step, plan_begin_) >= options_.patience;
  }

  const MetricsRow* highest() const { return highest_row(*task_, state_.rows); }

  void write_record() const {
    const MetricsRow* last = stopped_early() ? &state_.rows.back() : nullptr;
    folder_.write_record(run_json(facts_, folder_.description(), last), task_->data());
  }

  double epoch() const {
    return static_cast<double>(state_.step) / static_cast<double>(steps_.per_epoch());
  }

  // Images that stay together where processes share a step, if these are not all that are
  // normalised together.
  int64_t split_groups() const {
    const int64_t dealt = steps_.images_dealt();
    return dealt < images_together(model_, options_) ? dealt : 0;
  }

  void check_group() {
    if (group_.size() == 1) return;
    check_folder();
    Texts facts = folder_.description();
    facts.erase("threads");  // machines may have more or fewer
    facts["the step to resume from"] = std::to_string(state_.step);
    facts["the weights to begin with"] = values_mark(model_.parameters.values());
    if (group_.hosts() > 1) {
      const bool looks = group_.first_of_host();
      facts["the files to train on"] = looks ? contents_mark(*task_->data().train) : "";
      if (validates()) {
        facts["the files to validate on"] = looks ? contents_mark(*task_->data().val) : "";
      }
    }
    check_agreement(group_, facts);
  }

  // Only the first process writes, but all must read what is to be resumed.
  void check_folder() {
    double first_step = group_.rank() == 0 ? static_cast<double>(state_.step) : 0;
    group_.sum({&first_step, 1});
    const std::vector<bool> seen = seen_by(group_, folder_.path());
    const auto blind = std::ranges::find(seen, false);
    if (blind == seen.end()) return;
    folder_note_ = fmt::format(
        "{} does not see the run's folder {} of {}: {}",
        group_.name(static_cast<int>(blind - seen.begin())), folder_.path(), group_.name(0),
        first_step > 0 ? "expected a folder that all share, as the run resumes from it"
                       : "the run can only resume where all share the folder");
    if (first_step > 0) fail("{}", folder_note_);
  }

  RunSummary summary() const {
    RunSummary summary = summarise(facts_, *task_, folder_.description());
    summary.steps = steps_.count();
    summary.warmup_steps = steps_.schedule().warmup();
    summary.first_step = state_.step;
    summary.stopped_early = stopped_early();
    if (!folder_note_.empty()) summary.task.warnings.push_back(folder_note_);
    return summary;
  }

  bool asks_to_stop() const { return events_.stop && events_.stop(); }

  // A stop must be the decision of all, or some would wait for the others for ever.
  bool wants_stop() {
    double stop = asks_to_stop() ? 1 : 0;
    group_.sum({&stop, 1});
    return stop > 0;
  }

  void report_problems(const Batch& batch) {
    if (!events_.problem) return;
    for (const Problem& problem : batch.problems) events_.problem(problem.sentence);
  }

  // True: to stop after it. What was asked for during its passes has come with the gradients; a
  // process alone need not wait for others and sees what was asked for since.
  bool timed_step() {
    const Clock::time_point start = Clock::now();
    const StepResult result = steps_.run(
        state_, [&](const Batch& batch) { report_problems(batch); },
        [&] { return group_.size() > 1 && asks_to_stop(); });
    const double took = seconds_since(start);
    state_.seconds += took;
    state_.row_seconds += took;
    state_.row_due = state_.step == steps_.count() || state_.step % eval_steps_ == 0;
    pace_.add_step(took, result.images);
    if (group_.rank() == 0 && events_.step) {
      events_.step({state_.step, steps_.count(), epoch(), result.loss, result.lr,
                    result.gradient_norm, pace_.images_per_second(), seconds_left()});
    }
    return result.stop || (group_.size() == 1 && asks_to_stop());
  }

  double seconds_left() const {
    WorkLeft left;
    left.steps = steps_.count() - state_.step;
    left.validations = state_.row_due ? 1 : 0;
    if (left.steps > 0) {
      left.validations += (steps_.count() - 1) / eval_steps_ - state_.step / eval_steps_ + 1;
    }
    left.val_images = validates() ? static_cast<int64_t>(task_->data().val->size()) : 0;
    left.checkpoint_minutes = options_.checkpoint_minutes;
    return pace_.seconds_left(left);
  }

  const at::Tensor& best_values() {
    const at::Tensor& average = steps_.optimizer().average();
    return average.defined() ? average : model_.parameters.values();
  }

  // Validation, the new row of metrics, and the best network so far. False: asked to stop before
  // all that was done, and nothing is changed.
  bool close_row() {
    check_weights();
    const Clock::time_point start = Clock::now();
    MetricsRow row = state_.open_row();
    row.epoch = epoch();
    row.lr = steps_.schedule().lr(state_.step - 1);
    row.val.assign(task_->columns().val.size(), kNotMeasured);
    if (validates() && !validate(row.val)) return false;
    state_.seconds += seconds_since(start);
    row.seconds = state_.seconds;

    const bool best = becomes_best(*task_, state_.rows, row);
    if (best) state_.best_step = state_.step;
    state_.close_row(row);
    if (group_.rank() == 0) {
      Texts notes = model_notes(row, task_->columns());
      const double scale = task_->data().smallest_scale;
      if (scale > 0) notes["smallest_scale"] = fmt::format("{:.6g}", scale);
      if (best) write_trained_model(folder_.best(), model_, best_values(), notes);
      write_trained_model(folder_.last(), model_, best_values(), notes);
      curves_.best_step = state_.best_step;
      curves_.best_column = task_->best_column();
      curves_.best_label = task_->best_label(state_.best()->val);
      curves_.best_note = best_note();
      folder_.write_metrics(curves_, state_.rows);
    }
    pace_.add_validation(seconds_since(start));
    if (group_.rank() == 0 && events_.row) events_.row(row, seconds_left());
    return true;
  }

  std::string best_sentence() const {
    const MetricsRow* best = state_.best();
    return best != nullptr && validates() ? task_->best_sentence(best->val) : "";
  }

  // Why the best network is not the one with the highest figure; empty: it is.
  std::string best_note() const {
    const MetricsRow* high = highest();
    if (!validates() || high == nullptr || high->step == state_.best_step) return "";
    return fmt::format("the last within one standard error of the highest ({} at epoch {:.6g})",
                       task_->best_label(high->val), high->epoch);
  }

  bool validate(std::vector<double>& figures) {
    if (!validator_) {
      const size_t most =
          std::min<size_t>(static_cast<size_t>(options_.batch / steps_.passes()), 256);
      validator_.emplace(*task_, options_.loaders, workers_, group_,
                         std::max<size_t>(static_cast<size_t>(group_.size()), most));
    }
    const auto measured =
        validator_->run(model_.parameters.views_of(best_values()), [&](const Batch& batch) {
          report_problems(batch);
          return !wants_stop();
        });
    if (measured.has_value()) figures = *measured;
    return measured.has_value();
  }

  // A NaN weight shows in the loss only at the next step, so check before overwriting a good file.
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
    write_checkpoint(folder_.checkpoint(), state_, model_.parameters, steps_.optimizer(),
                     folder_.description());
    pace_.add_checkpoint(seconds_since(start));
  }

  const TrainOptions options_;
  const TrainEvents& events_;
  Group& group_;
  const std::unique_ptr<Task> task_;
  TrainedModel& model_;
  Workers workers_;
  Steps steps_;
  const int64_t eval_steps_;
  const RunFacts facts_;
  RunFolder folder_;
  std::string folder_note_;  // empty: all processes see it
  const int64_t plan_begin_;
  CurvesInfo curves_;
  RunState state_;
  std::optional<Validator> validator_;
  Pace pace_;
};

}  // namespace

TrainResult train(const TrainOptions& options, const std::string& data, const std::string& out,
                  const TrainEvents& events, Group& group) {
  check_options(options);
  check_device(options.device);
  check_apart(data, out);
  return train(open_task(options, data, group.local_size()), options, data, out, events, group);
}

TrainResult train(std::unique_ptr<Task> task, const TrainOptions& options, const std::string& data,
                  const std::string& out, const TrainEvents& events, Group& group) {
  if (options.patience > 0 && task->data().val == nullptr) {
    fail_usage("--patience is {}, but there are no images to validate on", options.patience);
  }
  return Run(std::move(task), options, data, out, events, group).run();
}

}  // namespace vig::train
