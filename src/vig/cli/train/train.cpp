#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "vig/base/error.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/progress.h"
#include "vig/cli/train/commands.h"
#include "vig/cli/train/processes.h"
#include "vig/train/process_group.h"
#include "vig/train/trainer.h"

namespace vig::cli {
namespace {

using train::MetricsRow;
using train::RunSummary;
using train::StepReport;
using train::TrainEvents;
using train::TrainOptions;

struct TrainCommand {
  std::string data, out, recipe = "imagenet";
  int workers = 1;
  std::vector<std::string> fields;
  std::map<std::string, std::string> texts;  // options given on the command line
};

// Lines for people: a status that is overwritten on a terminal, now and then a line elsewhere.
class Display {
 public:
  // To someone who may have gone: training goes on without.
  void say(const std::string& text) {
    if (alone_) return;
    try {
      print(text);
      flush_output();
    } catch (const ReaderGone&) {
      alone_ = true;
    }
  }

  void begin(const RunSummary& run) {
    say(fmt::format("{}: {} parameters, {} x {} input, {} classes\n", run.model,
                    grouped(run.parameters), run.size, run.size, run.classes));
    say(fmt::format("{} pictures to train on, {} to validate on; {} steps of {} an epoch\n",
                    grouped(static_cast<int64_t>(run.train_pictures)),
                    grouped(static_cast<int64_t>(run.val_pictures)), grouped(run.steps),
                    grouped(run.steps_per_epoch)));
    if (run.ignored_files > 0) {
      say(fmt::format("{} files that are no pictures are left alone\n", run.ignored_files));
    }
    if (run.warmup_steps == run.steps) {
      say("the warm-up takes the whole run: the learning rate never falls (see --warmup-epochs)\n");
    }
    if (run.first_step > 0) {
      say(fmt::format("going on from step {} of {}\n", run.first_step, run.steps));
    }
    say(" epoch        lr   loss  top-1   val loss  val top-1  images/s     left\n");
  }

  void step(const StepReport& report) {
    left_ = report.seconds_left;
    const auto now = std::chrono::steady_clock::now();
    const double every = terminal_ ? 0.2 : 30;
    if (std::chrono::duration<double>(now - last_).count() < every) return;
    last_ = now;
    const std::string text = fmt::format("step {} of {}, loss {:.4f}, {:.0f} images/s, {} left",
                                         report.step, report.steps, report.loss,
                                         report.images_per_second, clock_text(report.seconds_left));
    if (!terminal_) return complain(text);
    const std::string line = "\r\x1b[K" + text;
    std::fwrite(line.data(), 1, line.size(), stderr);
    shown_ = true;
  }

  void row(const MetricsRow& r) {
    hide();
    const auto percent = [](double share) {
      return std::isfinite(share) ? fmt::format("{:.2f}", 100 * share) : std::string("-");
    };
    say(fmt::format("{:6.2f}  {:.2e}  {:5.3f}  {:>5}  {:>9}  {:>9}  {:8.1f}  {:>7}\n", r.epoch,
                    r.lr, r.train_loss, percent(r.train_top1),
                    std::isfinite(r.val_loss) ? fmt::format("{:.4f}", r.val_loss) : "-",
                    percent(r.val_top1), r.images_per_second, clock_text(left_)));
  }

  void problem(const std::string& sentence) {
    hide();
    complain(sentence + "; skipped");
  }

  void hide() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  bool alone_ = false;
  double left_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

TrainOptions options_of(const TrainCommand& command) {
  TrainOptions options = train::recipe_options(command.recipe);
  for (const auto& [name, text] : command.texts) train::set_option(options, name, text);
  options.fields = parse_fields(command.fields);
  return options;
}

// One process of the run.
int run_process(const TrainCommand& command, TrainOptions options, const train::GroupPlace& place) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (options.threads == 0) options.threads = std::max(1, cores / place.local_size);
  train::check_device(options.device);
  const auto group = train::join_group(
      place, {options.device, options.group_timeout, fmt::format("vig-train {}", VIG_VERSION)});
  catch_interrupt();
  Display display;
  TrainEvents events;
  events.begin = [&](const RunSummary& run) { display.begin(run); };
  events.step = [&](const StepReport& report) { display.step(report); };
  events.row = [&](const MetricsRow& row) { display.row(row); };
  events.problem = [&](const std::string& sentence) { display.problem(sentence); };
  events.stop = [] { return interrupted(); };
  const train::TrainResult result =
      train::train(options, command.data, command.out, events, *group);
  display.hide();
  const bool speaks = group->rank() == 0;
  if (!result.finished) {
    if (speaks) {
      display.say(fmt::format("stopped at step {}; the same command goes on from there\n",
                              result.state.step));
    }
    return kInterruptedExit;
  }
  if (speaks && result.state.best_top1 >= 0) {
    display.say(fmt::format("best: {:.2f} % of the validation pictures, in {}/best.safetensors\n",
                            100 * result.state.best_top1, command.out));
  } else if (speaks) {
    display.say(fmt::format("done: {}/last.safetensors\n", command.out));
  }
  return 0;
}

int run_train(const TrainCommand& command) {
  const TrainOptions options = options_of(command);
  train::check_options(options);  // before anybody is waited for
  const auto run = [&](const train::GroupPlace& place) {
    return run_process(command, options, place);
  };
  const std::optional<train::GroupPlace> place = train::group_place(std::getenv);
  if (command.workers > 1) {
    if (place.has_value()) {
      fail_usage("--workers is for this machine alone, but RANK and MASTER_ADDR are set, too");
    }
    return run_processes(command.workers, run);
  }
  return run(place.value_or(train::GroupPlace()));
}

}  // namespace

void add_train(CLI::App& app, Command& chosen) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* sub = app.add_subcommand("train", "Train or fine-tune a classifier on your pictures");
  sub->add_option("data", command->data,
                  "Folder or .tar, .tar.gz, .zip of CLASS/PICTURE, or of train/, val/, test/ of it")
      ->required()
      ->type_name("DATA");
  sub->add_option("--out", command->out, "Folder of the run; one that exists goes on")
      ->required()
      ->type_name("FOLDER");
  sub->add_option("--recipe", command->recipe,
                  "imagenet (the paper's) or small (thousands of small pictures); the options "
                  "below change it")
      ->capture_default_str()
      ->type_name("NAME");
  sub->add_option("--workers", command->workers,
                  "Processes on this machine that share the work; several machines have RANK, "
                  "WORLD_SIZE, MASTER_ADDR and MASTER_PORT set, as by torchrun")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N");
  sub->add_option("--set", command->fields,
                  "Change a field of the model, such as depth=6; may be repeated")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  const std::map<std::string, std::string> imagenet =
      option_texts(train::recipe_options("imagenet"));
  const std::map<std::string, std::string> small = option_texts(train::recipe_options("small"));
  TrainOptions names;
  train::visit_options(names, [&](const char* name, auto& value, const char* help) {
    const std::string& first = imagenet.at(name);
    const std::string& second = small.at(name);
    const std::string values = first == second ? first : first + "; small: " + second;
    // Networks have a short name in all commands.
    const std::string option =
        fmt::format("{}--{}", std::string_view(name) == "model" ? "-m," : "", name);
    const auto keep = [command, key = std::string(name)](const auto& given) {
      command->texts[key] = fmt::format("{}", given);
    };
    CLI::Option* added =
        std::is_same_v<decltype(value), bool&>  // --NAME is yes, --NAME=false is no
            ? sub->add_flag_function(option, [keep](int64_t times) { keep(times > 0); })
            : sub->add_option_function<std::string>(option, keep)->type_name("VALUE");
    added->description(fmt::format("{} [{}]", help, values))->group("Recipe");
  });
  sub->footer(
      "Ctrl-C, a crash or kill -9 lose at most the minutes since the last checkpoint: the same\n"
      "command goes on, and ends with exactly the weights of an undisturbed run. N processes give\n"
      "those of one up to rounding, if --batch is a multiple of 2 N.");
  sub->callback([&chosen, command] { chosen = [command] { return run_train(*command); }; });
}

}  // namespace vig::cli
