#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "vig/base/printable.h"
#include "vig/cli/commands.h"
#include "vig/cli/output.h"
#include "vig/cli/output_file.h"
#include "vig/cli/picture_command.h"
#include "vig/pipeline/classifier.h"
#include "vig/pipeline/results_json.h"
#include "vig/tasks/predictions.h"

namespace vig::cli {
namespace {

struct ClassifyOptions {
  PictureOptions pictures;
  int top = 5;
  std::string csv;
  bool json = false;
};

std::string as_text(const ClassifiedPicture& picture) {
  std::string text = printable(picture.name, 4096) + "\n";
  for (const ClassScore& score : picture.answer.scores) {
    text += fmt::format("  {:6.2f} %  {:4}  {}", 100 * score.probability, score.index,
                        printable(score.name));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

int classify(const ClassifyOptions& options) {
  PictureRun pictures(options.pictures);
  FileRoles roles = pictures.roles();
  roles.write("--csv", options.csv);
  roles.check();
  const ModelSource source = chosen_source(options.pictures);
  const Classifier classifier(source, pictures.run_options());
  std::optional<OutputFile> csv;
  if (!options.csv.empty()) csv.emplace(options.csv);
  std::vector<Prediction> rows;

  const std::string note = default_model_note(source, options.pictures);
  // Where no model was named, who reads the answer may want to know it.
  const std::string unnamed = note.empty() ? "" : source.name;
  if (!note.empty() && options.json) complain(note);
  if (!note.empty() && !options.json) print(note + "\n");
  bool first = true;
  const auto take = [&](std::span<const ClassifiedPicture> answers) {
    pictures.hide_progress();
    for (const ClassifiedPicture& answer : answers) {
      if (!answer.error.empty()) pictures.reject(answer.error);
      if (csv) rows.push_back({answer.name, std::nullopt, answer.answer, answer.error});
      if (options.json) {
        print(first ? "[\n" : ",\n");
        print(classification_json(answer, unnamed));
        first = false;
      } else if (answer.error.empty()) {
        print(as_text(answer));
      }
    }
    return pictures.advance(answers.size());
  };
  pictures.run([&](const SampleSource& all) { classifier.classify(all, options.top, take); });
  if (options.json) print(first ? "[]\n" : "\n]\n");
  if (csv) {
    const int top = std::min(options.top, model_classes(source.spec));
    csv->write(predictions_csv(rows, source.classes, top, /*labelled=*/false));
    csv->finish(pictures.complete());
  }
  return pictures.exit_status();
}

}  // namespace

void add_classify(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ClassifyOptions>();
  CLI::App* command =
      app.add_subcommand("classify", "Classify pictures: print the most probable classes of each");
  add_picture_options(*command, options->pictures);
  command->add_option("--top", options->top, "Number of classes to print for each picture")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->capture_default_str()
      ->type_name("K");
  command
      ->add_option("--csv", options->csv,
                   "Also write a CSV file with a line for each picture: its file and best classes")
      ->type_name("FILE");
  add_json(*command, options->json);
  command->footer(
      "A picture that cannot be read is reported and skipped, and the exit status is 1.\n"
      "Ctrl-C stops after the current batch; --csv then writes FILE.partial.");
  command->callback([&chosen, options] { chosen = [options] { return classify(*options); }; });
}

}  // namespace vig::cli
