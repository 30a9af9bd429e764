#include "vig/study/miniature.h"

#include <fmt/format.h>

#include <map>

#include "vig/base/error.h"
#include "vig/base/processors.h"
#include "vig/pipeline/model_source.h"
#include "vig/study/child.h"
#include "vig/study/results.h"

namespace vig::study {
namespace {

namespace fs = std::filesystem;
using Fields = std::vector<std::string>;

// DeiT's FFN is six times as wide as its tokens, so that it has as many parameters as ViG's SwiGLU
// of the same width, as the full-size networks have.
const std::map<std::string, Fields>& all_fields() {
  static const Fields gla = {"embed_dim=64", "depth=4", "heads=2", "patch_size=4", "drop_path=0"};
  static const std::map<std::string, Fields> fields = {
      {"vig_t", gla},
      {"gla_t", gla},
      {"gla_t_stem", gla},
      {"gla_t_bidirectional", gla},
      {"gla_t_position", gla},
      {"gla_t_gated", gla},
      {"gla_t_vim", gla},
      {"deit_t",
       {"embed_dim=64", "depth=4", "heads=2", "patch_size=4", "mlp_ratio=6", "drop_path=0"}},
      {"vim_t", {"embed_dim=64", "depth=7", "patch_size=4", "stride=4", "drop_path=0"}},
      {"vrwkv_t", {"embed_dim=64", "depth=5", "patch_size=4", "drop_path=0"}},
      {"swin_t", {"embed_dim=48", "depths=2,2", "heads=2,4", "window_size=4", "drop_path=0"}},
      {"resnet50", {"base_planes=18", "layers=2,2,2", "drop_path=0"}}};
  return fields;
}

void delete_file(const fs::path& file) {
  std::error_code ignored;
  fs::remove(file, ignored);
}

const std::string& data_of(const StudyContext& context) {
  if (context.options.data.empty()) {
    fail_usage(
        "--data: expected a folder or archive with train/ and test/ (or val/) of small images, "
        "such "
        "as CIFAR-10, found nothing");
  }
  return context.options.data;
}

}  // namespace

std::vector<std::string> miniature_fields(const std::string& model) {
  const auto found = all_fields().find(model);
  if (found == all_fields().end()) fail("[study] {} has no miniature", model);
  return found->second;
}

int64_t file_parameters(const fs::path& weights) {
  ModelRequest request;
  request.model = weights.string();
  return find_source(request).graph->param_count();
}

namespace {

double epochs_of(const StudyOptions& options, const MiniatureTraining& training) {
  return options.epochs > 0 ? options.epochs : training.epochs;
}

}  // namespace

std::string data_name(const StudyOptions& options) {
  const fs::path clean = fs::path(options.data).lexically_normal();
  return (clean.has_filename() ? clean : clean.parent_path()).filename().string();
}

std::string data_and_epochs(const StudyOptions& options, double epochs) {
  return fmt::format("data={} epochs={:.6g}", data_name(options), epochs);
}

std::string training_settings(const StudyOptions& options, const MiniatureTraining& training) {
  return data_and_epochs(options, epochs_of(options, training));
}

std::string training_sentence(const std::string& settings, const MiniatureTraining& training) {
  return fmt::format(
      "Every miniature has about 300,000 parameters (width 64, depth 4 and 2 heads if the network "
      "has such fields), takes {0} x {0} images and is trained from fresh weights by `vig train` "
      "with the preset `small`, {1}, batch 128, 2 % of the training images held out if the data "
      "has no `val/`, AdamW with a peak learning rate of 2e-3, a tenth of the run as warm-up and "
      "cosine decay{2}; the averaged weights at the end (EMA 0.99) are tested on all images of "
      "`{3}/`.\n",
      training.size, training.resized_crops ? "random resized crops" : "crops of the padded image",
      settings.empty() ? "" : fmt::format(" ({})", settings), training.test);
}

fs::path run_training(const std::string& name, std::vector<std::string> arguments,
                      const StudyContext& context) {
  const fs::path folder = context.runs / name;
  std::error_code error;
  fs::create_directories(context.runs, error);
  if (error) fail("{}: cannot make the folder: {}", context.runs.string(), error.message());
  arguments.insert(arguments.begin(), "train");
  arguments.insert(arguments.end(), {"--out", folder.string()});
  // The default is what a run says that names no number, so that it resumes on another machine.
  const int threads = context.options.threads;
  if (threads != default_threads()) {
    arguments.insert(arguments.end(), {"--threads", fmt::format("{}", threads)});
  }
  run_vig(arguments, context.runs / (name + ".log"), context);
  return folder;
}

fs::path trained_miniature(const std::string& model, int seed, const MiniatureTraining& training,
                           const StudyContext& context) {
  const double epochs = epochs_of(context.options, training);
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  std::vector<std::string> arguments = {data_of(context), "--preset", "small", "--model", model};
  for (const auto& [option, value] :
       {std::pair<std::string, std::string>("--size", fmt::format("{}", training.size)),
        {"--val-share", "0.02"},
        {"--epochs", number(epochs)},
        {"--eval-every", number(training.eval_every > 0 ? training.eval_every : epochs)},
        {"--warmup-epochs", number(epochs / 10)},
        {"--ema", "0.99"},
        {"--seed", fmt::format("{}", seed)},
        {"--crop", training.resized_crops ? "resized" : "padded"}}) {
    arguments.insert(arguments.end(), {option, value});
  }
  for (const std::string& field : miniature_fields(model)) {
    arguments.insert(arguments.end(), {"--set", field});
  }
  const std::string name = fmt::format(
      "{}-{}-{}epochs-{}{}{}-seed{}", model, data_name(context.options), number(epochs),
      training.size, training.resized_crops ? "-crops" : "",
      training.eval_every > 0 ? fmt::format("-every{}", number(training.eval_every)) : "", seed);
  return run_training(name, std::move(arguments), context);
}

Accuracy measure_accuracy(const fs::path& weights, int size, const std::string& split,
                          const StudyContext& context) {
  const fs::path csv = context.folder / "eval.csv", log = context.folder / "eval.log";
  delete_file(log);
  std::vector<std::string> arguments = {"eval", data_of(context), "--split", split,
                                        "-m",   weights.string(), "--csv",   csv.string()};
  arguments.insert(arguments.end(), {"--threads", fmt::format("{}", context.options.threads)});
  if (size > 0) arguments.insert(arguments.end(), {"--size", fmt::format("{}", size)});
  run_vig(std::move(arguments), log, context);
  // index,class,images,predicted,correct,...
  const auto lines = parse_csv(read_text(csv), csv.string());
  Accuracy accuracy;
  double correct = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() < 5) fail("{}: line {}: expected 5 cells or more", csv.string(), i + 1);
    accuracy.images += std::stod(lines[i][2]);
    correct += std::stod(lines[i][4]);
  }
  if (accuracy.images == 0) fail("{}: no image was tested", csv.string());
  accuracy.top1 = correct / accuracy.images;
  delete_file(csv);
  delete_file(log);
  return accuracy;
}

}  // namespace vig::study
