#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "vig/base/error.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/train/commands.h"
#include "vig/cli/train/display.h"
#include "vig/cli/train/processes.h"
#include "vig/cli/train/stop_signals.h"
#include "vig/data/archive.h"
#include "vig/pipeline/default_model.h"
#include "vig/train/model_rates.h"
#include "vig/train/presets.h"
#include "vig/train/processes/process_group.h"
#include "vig/train/run_folder.h"
#include "vig/train/trainer.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;
using train::TrainEvents;
using train::TrainOptions;

struct TrainCommand {
  std::string data, out, preset;
  bool named_out = true;
  int processes = 1;
  std::vector<std::string> fields;
  std::map<std::string, std::string> texts;  // options given on the command line
};

// DATA-run in the current folder, or beside DATA where that one lies inside of it; with a number
// behind it, if there is one already.
std::string default_out(const std::string& data) {
  std::error_code ignored;
  fs::path images = fs::weakly_canonical(fs::absolute(data, ignored), ignored);
  if (!images.has_filename()) images = images.parent_path();
  std::string name = images.filename().string();
  std::erase_if(name, [](char c) { return c == '{' || c == '}' || c == ','; });  // of shards
  for (const char* ending : {".tar.gz", ".tgz", ".tar", ".zip", ".csv"}) {
    if (name.ends_with(ending)) {
      name.resize(name.size() - std::string_view(ending).size());
      break;
    }
  }
  fs::path parent;
  const fs::path here = fs::weakly_canonical(fs::current_path(ignored), ignored);
  if (std::ranges::mismatch(images, here).in1 == images.end()) parent = images.parent_path();
  const std::string start = (parent / (name.empty() ? "run" : name + "-run")).string();
  std::string out = start;
  for (int number = 2; fs::exists(fs::symlink_status(out, ignored)); ++number) {
    out = fmt::format("{}-{}", start, number);
  }
  return out;
}

// A run that resumes keeps its threads, as its bits depend on them, unless it has other processes.
void keep_threads(const train::Texts& stored, int processes, TrainOptions& options) {
  const auto before = stored.find("processes"), threads = stored.find("threads");
  const bool same = before != stored.end() && before->second == std::to_string(processes);
  train::set_option(options, "threads", same && threads != stored.end() ? threads->second : "0");
}

// Those given, over those of the preset that is named, of the run that the folder holds, or of the
// preset that suits the data; `note` says which of the last it is.
TrainOptions options_of(const TrainCommand& command, int processes, std::string& note) {
  TrainOptions options;
  const auto set_given = [&] {
    for (const auto& [name, text] : command.texts) train::set_option(options, name, text);
    if (options.model == train::kFreshModel) options.model = TrainOptions().model;
    options.model = resolve_model(options.model);
    for (const auto& [field, value] : parse_fields(command.fields)) options.fields[field] = value;
  };
  const std::string checkpoint = command.out + "/checkpoint.safetensors";
  std::error_code ignored;
  const bool resumes = fs::exists(checkpoint, ignored);
  const train::Texts stored = resumes ? train::read_description(checkpoint) : train::Texts();
  if (!command.preset.empty()) {
    options = train::preset_options(command.preset);
  } else if (resumes) {
    options = train::stored_options(stored);
  } else {
    set_given();  // invalid ones are reported before the data is read
    train::check_options(options);
    const train::ChosenPreset chosen = train::choose_preset(
        train::measure_data(command.data, options), command.texts, !command.fields.empty());
    options = chosen.options;
    note = chosen.sentence + "\n";
  }
  if (resumes) keep_threads(stored, processes, options);
  set_given();
  if (resumes && command.preset.empty()) return options;
  const std::string changes = train::fit_to_model(options, command.texts);
  if (!changes.empty())
    note += fmt::format("{} in preset {}:{}\n", options.model, options.preset, changes);
  return options;
}

void say_stopping() {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const std::string text = fmt::format("{}vig: stopping after this step (once more ends at once)\n",
                                       terminal ? "\r\x1b[K" : "");
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // the reader is gone
}

// Of the run's folder: the names of the data, so that a run that resumes need not list them.
constexpr const char* kListingFile = "/files.index";

// One process of the run; `folder` is its data where that is a folder.
int run_process(const TrainCommand& command, TrainOptions options, const std::string& note,
                const train::GroupMember& member, const Archive* folder) {
  const bool speaks = member.rank == 0;
  const StopSignals signals(
      [&] {
        if (speaks) say_stopping();
      },
      [&] {
        if (speaks) train::remove_temporaries(command.out);  // no other process writes there
      });
  train::check_device(options.device);
  const auto group = train::join_group(
      member, {options.device, options.group_timeout, fmt::format("vig-train {}", VIG_VERSION)});
  if (options.threads == 0) options.threads = group->threads();
  Display display;
  TrainEvents events;
  events.begin = [&](const train::RunSummary& run) {
    display.say(note);
    display.begin(run);
    if (speaks && folder != nullptr) keep_listing(*folder, command.out + kListingFile);
  };
  events.step = [&](const train::StepReport& report) { display.step(report); };
  events.row = [&](const train::MetricsRow& row, double left) { display.row(row, left); };
  events.problem = [&](const std::string& sentence) { display.problem(sentence); };
  events.stop = [&] { return signals.stopping(); };
  const train::TrainResult result =
      train::train(options, command.data, command.out, events, *group);
  display.hide();
  if (!result.finished) {
    if (speaks) {
      display.say(fmt::format("stopped at step {}; the same command{} resumes from there\n",
                              result.state.step,
                              command.named_out ? "" : " with --out " + command.out));
    }
    return signals.stopping() ? signals.exit_status() : kInterruptedExit;
  }
  if (speaks) display.end(result, command.out);
  display.check();
  return 0;
}

int run_train(TrainCommand command) {
  const std::optional<train::GroupMember> member = train::group_member(std::getenv);
  if (command.processes > 1 && member.has_value()) {
    fail_usage(
        "--processes is for this machine alone, but a launcher has started several processes, too "
        "(RANK and MASTER_ADDR, or the variables of Slurm or MPI)");
  }
  if (command.out.empty() && member.has_value()) {
    fail_usage(
        "--out is needed where processes are started one by one, or each would choose its own");
  }
  command.named_out = !command.out.empty();
  if (!command.named_out) command.out = default_out(command.data);
  // Listed once, for the preset and for all processes of this machine.
  std::error_code ignored;
  const std::shared_ptr<const Archive> listed =
      fs::is_directory(command.data, ignored)
          ? open_folder(command.data, command.out + kListingFile)
          : nullptr;
  std::string note;
  const int processes = member.has_value() ? member->size : command.processes;
  const TrainOptions options = options_of(command, processes, note);
  train::check_options(options);  // before anybody is waited for
  if (!command.named_out) note += fmt::format("the run's folder is {}\n", command.out);
  const auto run = [&](const train::GroupMember& own) {
    return run_process(command, options, note, own, listed.get());
  };
  if (command.processes > 1) return run_processes(command.processes, run);
  try {
    return run(member.value_or(train::GroupMember()));
  } catch (const train::GroupLost& lost) {
    fail("{}{}", lost.what(), kResumes);
  }
}

}  // namespace

void add_train(CommandLine& line) {
  auto command = std::make_shared<TrainCommand>();
  Command& sub = line.add_command(
      "train", "Train or fine-tune a classifier, segmentation network or detector");
  sub.option("data", command->data,
             "Folder, .tar, .tar.gz or .zip with CLASS/IMAGE, or with train/, val/ and test/ of "
             "such folders; a folder or quoted pattern of tar files, train-{000..146}.tar; a .csv "
             "of path,label or path,label,split; with images and label maps "
             "for segmentation; or with COCO annotations, or their .json file, for detection")
      .required()
      .value("DATA");
  sub.option("--out", command->out,
             "Folder of the run; an interrupted run in it resumes (default: a new folder DATA-run)")
      .value("FOLDER");
  sub.option(
         "--preset", command->preset,
         "Preset of the options below: imagenet, ade20k (segmentation) and coco (detection), the "
         "paper's; small (thousands of small images), finetune (a trained classifier on few "
         "images), segment and detect, for less data "
         "(default: chosen from the data)")
      .offers(train::preset_names())
      .value("NAME");
  sub.option("--processes", command->processes,
             "Number of processes on this machine that train together; for several machines "
             "start the program with torchrun, srun or mpirun")
      .show_default()
      .range(1, 1024)
      .value("N");
  sub.option("--set", command->fields, "Set a field of the model, such as depth=6; may be repeated")
      .value("FIELD=VALUE")
      .one_each();
  std::vector<std::map<std::string, std::string>> presets;
  for (const std::string& name : train::preset_names()) {
    presets.push_back(option_texts(train::preset_options(name)));
  }
  TrainOptions names;
  train::visit_options(names, [&](const char* name, auto& value, const char* help) {
    const std::string& first = presets[0].at(name);
    std::string values = first.empty() ? "none" : first;
    for (size_t i = 1; i < presets.size(); ++i) {
      const std::string& other = presets[i].at(name);
      if (other != first) {
        values += fmt::format("; {}: {}", train::preset_names()[i], other.empty() ? "none" : other);
      }
    }
    // Networks have a short name in all commands.
    const bool network = std::string_view(name) == "model";
    const std::string option = fmt::format("{}--{}", network ? "-m," : "", name);
    const OptionTarget::Take keep = [command, key = std::string(name)](const std::string& text) {
      command->texts[key] = text;
    };
    const std::string described = fmt::format("{} [{}]", help, values);
    const bool flag = std::is_same_v<decltype(value), bool&>;
    Option& added = flag ? sub.flag(option, keep, described)
                         : sub.option(option, keep, described).value(network ? "MODEL" : "VALUE");
    added.group("Preset");
  });
  sub.footer =
      "The data determines the task, or --task: folders of classes and lists train a classifier, "
      "images\n"
      "with label maps a segmentation network, images with COCO annotations a detector. A "
      "classifier as\n"
      "--model provides the backbone of the other two.\n"
      "Ctrl-C stops after the current optimiser step, a second Ctrl-C at once. A crash or kill -9 "
      "loses\n"
      "at most the minutes since the last checkpoint. The same command resumes the run, which ends "
      "with\n"
      "exactly the weights of an uninterrupted one. A larger --epochs or --steps extends a "
      "finished run, a "
      "larger\n"
      "--patience one that stopped early. Any number of processes gives the weights of "
      "one up to\n"
      "rounding, and may change when a run resumes.";
  sub.run = [command] { return run_train(*command); };
}

}  // namespace vig::cli
