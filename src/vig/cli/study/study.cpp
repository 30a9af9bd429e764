#include "vig/cli/study/study.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/program.h"
#include "vig/cli/progress.h"
#include "vig/study/claims.h"
#include "vig/study/report.h"
#include "vig/study/results.h"
#include "vig/study/study.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReport = "report";

struct StudyCommand {
  std::string name;
  std::string out, runs;
  std::string rows;
  std::string from;
  study::StudyOptions options;
};

// Where bench/baselines/install.sh puts it: in the build folder that this program lies in.
std::string installed_baselines() {
  const fs::path own = program_file();
  if (own.empty()) return "";
  const fs::path folder = own.parent_path().parent_path().parent_path() / "baselines";
  std::error_code ignored;
  return fs::is_directory(folder, ignored) ? folder.string() : "";
}

// `vig`, which rows are measured with: beside this program, or in PATH.
fs::path vig_itself() {
  const fs::path beside = program_file().replace_filename("vig");
  std::error_code ignored;
  return fs::exists(beside, ignored) ? beside : fs::path("vig");
}

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> found;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) found.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

// Makes the tables of a document anew.
int report(const StudyCommand& command) {
  if (command.from.empty() || command.out.empty()) {
    fail_usage("study report needs the folder of results with --from and the document with --out");
  }
  const fs::path document = command.out;
  const study::Report made =
      study::make_report(study::read_text(document), command.from, document.string());
  std::error_code ignored;
  if (!fs::is_directory(command.from, ignored)) fail("{}: there is no such folder", command.from);
  for (const auto& [name, svg] : made.images) {
    AtomicFile((document.parent_path() / name).string()).commit_text(svg);
    print(fmt::format("{}\n", (document.parent_path() / name).string()));
  }
  AtomicFile(document.string()).commit_text(made.document);
  print(fmt::format("{}\n", document.string()));
  return 0;
}

// Begins with the rows of a folder, unless the study has rows of its own already.
void continue_from(const fs::path& from, const study::Study& study, const fs::path& folder) {
  const fs::path stored = from / (study.name + ".csv"), own = folder / (study.name + ".csv");
  const std::string text = study::read_text(stored);
  study::parse_results(text, study.columns, stored.string(), study.portable);
  std::error_code error;
  if (fs::exists(own, error)) return;
  fs::create_directories(folder, error);
  if (error) fail("{}: cannot make the folder: {}", folder.string(), error.message());
  AtomicFile(own.string()).commit_text(text);
}

int run(const StudyCommand& command) {
  if (command.name == kReport) return report(command);
  const study::Study& study = study::find_study(command.name);
  study::StudyContext context;
  context.options = command.options;
  context.options.rows = words(command.rows);
  if (context.options.threads <= 0) context.options.threads = default_threads();
  if (context.options.baselines.empty()) context.options.baselines = installed_baselines();
  context.folder = command.out.empty() ? fs::path("study") / study.name : fs::path(command.out);
  context.runs = !command.runs.empty() ? fs::path(command.runs)
                 : command.out.empty() ? fs::path("study") / "runs"
                                       : fs::path(command.out) / "runs";
  if (!command.from.empty()) continue_from(command.from, study, context.folder);
  context.program = vig_itself();
  context.version = VIG_VERSION;
  catch_interrupt();
  context.keep_going = [] { return !interrupted(); };
  std::optional<Progress> progress;
  if (isatty(STDERR_FILENO) == 1) context.tick = [&] { progress->advance(0); };
  study::StudyProgress shown;
  shown.begin = [&](size_t missing, size_t present) {
    if (present > 0) {
      print(fmt::format("{}: {} rows are there already\n", context.folder.string(), present));
    }
    print(fmt::format("{}: {} rows to measure\n", study.name, missing));
    flush_output();
    progress.emplace(static_cast<int64_t>(missing), "rows");
  };
  shown.finished = [&](const study::Row& row) {
    progress->hide();
    print(fmt::format("{}: {}\n", row.key, row.note.empty() ? study.summary(row) : row.note));
    flush_output();
    progress->advance(1);
  };
  shown.end = [&](const study::Presentation& presentation) {
    progress->hide();
    for (const study::Claim& claim : presentation.claims) {
      print(study::claim_text(claim) + "\n");
    }
  };
  const bool whole = study::run_study(study, context, shown);
  progress.reset();
  if (!whole) {
    complain(fmt::format("stopped; the same command measures what is missing in {}",
                         context.folder.string()));
    return interrupted_exit();
  }
  print(fmt::format("{0}/{1}.csv, {0}/{1}.svg and {0}/{1}.md are written\n",
                    context.folder.string(), study.name));
  return 0;
}

std::vector<std::string> study_names() {
  std::vector<std::string> names;
  for (const study::Study& study : study::studies()) names.push_back(study.name);
  names.emplace_back(kReport);
  return names;
}

std::string studies_text() {
  std::string text = "Studies:\n";
  for (const study::Study& study : study::studies()) {
    text += fmt::format("  {:<12} {}\n  {:<12} Takes {} on 2 cores.\n", study.name, study.sentence,
                        "", study.duration);
  }
  text +=
      fmt::format("  {:<12} {}\n", kReport,
                  "Rewrites the tables and figures of docs/reproduction.md from stored results.");
  return text;
}

}  // namespace

void add_study(CommandLine& line) {
  auto options = std::make_shared<StudyCommand>();
  Command& command = line.add_command(
      "study", "Reproduce a table or figure of the paper, with a verdict on each claim");
  command.option("name", options->name, "Name of the study, or report")
      .required()
      .offers(study_names())
      .value("NAME");
  command
      .option("--out", options->out,
              "Output folder (default: study/NAME); for report: the document")
      .value("FOLDER");
  command
      .option("--from", options->from,
              "For report: folder with the results of the studies; for a study: folder whose "
              "NAME.csv it continues, such as bench/results/study")
      .value("FOLDER");
  command
      .option("--rows", options->rows,
              "Measure only these rows: printed names, or parts of them between slashes")
      .value("ROW,...");
  add_threads(command, options->options.threads);
  command
      .option("--seconds", options->options.seconds,
              "Approximate seconds per timing (default: set by the study)")
      .range(0.01, 86400.0)
      .value("S");
  command
      .option("--data", options->options.data,
              "Training images for studies that train: a folder or archive")
      .value("DATA");
  command.option("--epochs", options->options.epochs, "Training epochs (default: set by the study)")
      .range(0.001, 10000.0)
      .value("N");
  command
      .option("--seeds", options->options.seeds,
              "Seeds to train each network with (default: set by the study)")
      .range(1, 99)
      .value("N");
  command
      .option("--runs", options->runs,
              "Folder of trained networks, shared by studies (default: study/runs, or "
              "FOLDER/runs)")
      .value("RUNS");
  command
      .option("--images", options->options.images,
              "Images for receptive fields: files, folders or quoted patterns")
      .value("IMAGE ...");
  command
      .option("-m,--model", options->options.model,
              "Network whose attention is drawn (default: the model that comes with vig)")
      .value("MODEL");
  command
      .option(
          "--weights", options->options.weights,
          "Weights of a network for receptive fields, resolutions and validation; may be repeated")
      .value("MODEL=FILE");
  command
      .option("--baselines", options->options.baselines,
              "Folder where bench/baselines is installed (default: build/baselines, if it exists)")
      .value("FOLDER");
  command.flag("--force", options->options.force,
               "Restart: discard the results of this study in the folder");
  command.footer = studies_text() +
                   "\nEach row is stored in FOLDER/NAME.csv as soon as it is measured. The same "
                   "command resumes a\n"
                   "study that was stopped or killed. At the end FOLDER/NAME.svg and "
                   "FOLDER/NAME.md show all rows\n"
                   "beside the paper's figures.";
  command.run = [options] { return run(*options); };
}

}  // namespace vig::cli
