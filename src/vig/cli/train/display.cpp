#include "vig/cli/train/display.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/output.h"
#include "vig/cli/progress.h"

namespace vig::cli {
namespace {

using train::Beginning;
using train::Column;
using train::MetricsRow;
using train::RunSummary;
using train::StepReport;

constexpr size_t kNarrowest = 6;  // "100.00"

std::string cell(const Column& column, const std::string& text) {
  if (column.title.empty()) return "";
  return fmt::format("  {:>{}}", text, std::max(kNarrowest, column.title.size()));
}

std::string cell(const Column& column, double value) {
  if (!std::isfinite(value)) return cell(column, "-");
  return cell(column,
              column.percent ? fmt::format("{:.2f}", 100 * value) : fmt::format("{:.4f}", value));
}

std::string count(size_t number) { return grouped(static_cast<int64_t>(number)); }

// What of a network comes from a file, what begins fresh, and what of it learns.
std::string beginning_text(const RunSummary& run) {
  const Beginning& from = run.beginning;
  std::string text;
  if (!from.file.empty()) {
    text = fmt::format("from {}: {} parameters loaded", printable(from.file, 4096),
                       grouped(from.loaded));
    if (from.fresh > 0) {
      text += fmt::format(", {} begin fresh ({}: {})", grouped(from.fresh),
                          fmt::join(from.fresh_names, ", "), from.fresh_reason);
    }
  }
  if (text.empty() && from.learning == run.parameters) return "";
  return fmt::format("{}{} of {} parameters learn\n", text.empty() ? "" : text + "; ",
                     from.learning == run.parameters ? "all" : grouped(from.learning),
                     grouped(run.parameters));
}

}  // namespace

Display::Display() : terminal_(isatty(STDERR_FILENO) == 1) {
  if (!terminal_) last_ = std::chrono::steady_clock::now();
}

void Display::say(const std::string& text) {
  if (alone_) return;
  try {
    print(text);
    flush_output();
  } catch (const ReaderGone&) {
    alone_ = true;
  } catch (const Error& error) {  // as when the disk is full or the terminal is closed
    alone_ = true;
    failure_ = error.what();
  }
}

void Display::check() const {
  if (!failure_.empty()) fail("{}; the run itself is complete", failure_);
}

void Display::begin(const RunSummary& run) {
  columns_ = run.task.columns;
  steps_per_epoch_ = run.steps_per_epoch;
  say(fmt::format("{}: {} parameters, {} x {} input, {}\n", run.model, grouped(run.parameters),
                  run.height, run.width, run.task.subject));
  say(beginning_text(run));
  if (!run.beginning.added.empty()) say(run.beginning.added + "\n");
  say(fmt::format("{} images to train on, {} to validate on; {} steps of {} an epoch\n",
                  count(run.train_images), count(run.val_images), grouped(run.steps),
                  grouped(run.steps_per_epoch)));
  if (run.ignored_files > 0) {
    say(fmt::format("{} files are not images and are ignored\n", run.ignored_files));
  }
  if (static_cast<size_t>(run.batch) > run.train_images) {
    say(fmt::format("the batch of {} exceeds the data: every step has all {} images\n",
                    grouped(run.batch), count(run.train_images)));
  }
  if (run.val_images == 0) {
    complain("nothing to validate on: the last network counts as the best");
  }
  for (const std::string& warning : run.task.warnings) complain(warning);
  for (const std::string& note : run.task.notes) say(note + "\n");
  if (run.warmup_steps == run.steps) {
    say("the warm-up takes the whole run: the learning rate never falls (see --warmup-epochs)\n");
  }
  if (!run.extended.empty()) {
    say(fmt::format(
        "extended from {} epochs: the learning rate continues as if {} had been planned\n",
        run.extended,
        grouped(static_cast<int64_t>(std::ceil(static_cast<double>(run.steps) /
                                               static_cast<double>(run.steps_per_epoch))))));
  }
  if (run.stopped_early) {
    say(fmt::format("finished: it stopped early at step {} of {}\n", run.first_step, run.steps));
  } else if (run.first_step > 0) {
    say(fmt::format("resuming from step {} of {}\n", run.first_step, run.steps));
  }
  std::string titles = " epoch        lr   loss";
  for (const auto* list : {&columns_.train, &columns_.val}) {
    for (const Column& column : *list) titles += cell(column, column.title);
  }
  say(titles + "  images/s     left\n");
}

void Display::step(const StepReport& report) {
  const auto now = std::chrono::steady_clock::now();
  const double every = terminal_ ? 0.2 : 30;
  if (last_.has_value() && std::chrono::duration<double>(now - *last_).count() < every) return;
  last_ = now;
  const std::string left = std::isfinite(report.seconds_left)
                               ? fmt::format("{:.0f} images/s, {} left", report.images_per_second,
                                             clock_text(report.seconds_left))
                               : "estimating the time left";
  const std::string text =
      fmt::format("step {} of {}, loss {:.4f}, {}", report.step, report.steps, report.loss, left);
  if (!terminal_) return complain(text);
  const std::string line = "\r\x1b[K" + text;
  std::fwrite(line.data(), 1, line.size(), stderr);
  shown_ = true;
}

void Display::row(const MetricsRow& r, double seconds_left) {
  hide();
  std::string figures;
  for (size_t i = 0; i < r.train.size(); ++i) figures += cell(columns_.train[i], r.train[i]);
  for (size_t i = 0; i < r.val.size(); ++i) figures += cell(columns_.val[i], r.val[i]);
  say(fmt::format("{:6.2f}  {:.2e}  {:5.3f}{}  {:8.1f}  {:>7}\n", r.epoch, r.lr, r.train_loss,
                  figures, r.images_per_second,
                  std::isfinite(seconds_left) ? clock_text(seconds_left) : "?"));
}

void Display::problem(const std::string& sentence) {
  hide();
  complain(sentence + "; skipped");
}

void Display::end(const train::TrainResult& result, const std::string& out) {
  hide();
  if (result.stopped_early) {
    say(fmt::format(
        "stopped early at epoch {:.6g}: no better network for as many validations as --patience "
        "says; a larger one continues\n",
        result.state.rows.back().epoch));
  }
  if (result.best.empty()) return say(fmt::format("done: {}/last.safetensors\n", out));
  const double epoch =
      static_cast<double>(result.state.best_step) / static_cast<double>(steps_per_epoch_);
  const std::string note = result.best_note.empty() ? "" : ", " + result.best_note;
  say(fmt::format("best: {} at epoch {:.6g}{}, in {}/best.safetensors\n", result.best, epoch, note,
                  out));
}

void Display::hide() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace vig::cli
