// Shared by the commands that run images through a network.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vig/cli/file_roles.h"
#include "vig/cli/options.h"
#include "vig/cli/progress.h"
#include "vig/image/decode.h"
#include "vig/pipeline/runner.h"
#include "vig/pipeline/whole_image.h"

namespace vig::cli {

// A network, and how images go through it.
struct NetworkOptions {
  ModelTask task = ModelTask::kClassify;
  ModelOptions model;  // without a name: the default model of the task
  int size = 0;        // 0: the one that belongs to the weights
  int batch = 0;       // 0: by the size
  int threads = 0;
  PrecisionOptions precision;
  bool ignore_orientation = false;
  int64_t max_pixels = DecodeOptions().max_pixels;

  std::string model_file() const;  // throws where a bundled model is meant and not there
  DecodeOptions decode() const;
  RunOptions run(size_t images) const;
};

void add_network_options(Command& command, NetworkOptions& options);

// Throws when neither a model is named nor a default model is there.
ModelSource chosen_source(const NetworkOptions& options);
// One line on the default model and its classes; empty when a model was named.
std::string default_model_note(const ModelSource& source, const NetworkOptions& options);

// Lines of text output: "  warning: ...".
std::string warning_lines(const std::vector<ImageWarning>& warnings);

// The network on whole images at their own size, in bounded memory.
struct WholeCommand {
  bool whole = false;
  std::string max_memory;  // empty: what is free
  std::string scratch;     // empty: the folder of temporary files
};

// --whole, --max-memory and --scratch
void add_whole_options(Command& command, WholeCommand& options);

struct ImageOptions : NetworkOptions {
  std::vector<std::string> inputs;
  std::string shard;       // "2/8"; empty: all
  bool tar_files = false;  // stand for the images in them
};

void add_image_options(Command& command, ImageOptions& options);

// The images of one command, and how it went.
class ImageRun {
 public:
  // Finds the images and reads none; throws when there are none.
  explicit ImageRun(const ImageOptions& options);

  // The model and the images, to be compared with the files that the command writes. Outlives the
  // result.
  FileRoles roles() const;
  RunOptions run_options() const { return options_.run(files_.size()); }
  // Images that are run whole take none of the memory for batches.
  RunOptions run_options(const WholeCommand& whole) const {
    return options_.run(whole.whole ? 1 : files_.size());
  }
  const std::vector<std::string>& files() const { return files_; }
  // Of all parts where this is one of several, and the position in it of one of files(): names and
  // numbers of outputs come from the whole list, so that those of different parts differ.
  const std::vector<std::string>& all_files() const { return all_files_; }
  size_t position(size_t file) const { return positions_[file]; }

  // Drops the files that are `done`, which is asked once for each in their order. An earlier run
  // has got `results` and `errors` of them, which count in the exit status.
  void leave_out(const std::function<bool(const std::string& file)>& done, int64_t results,
                 int64_t errors);

  // How whole images are run: files are read by regions, streams decoded. Throws a usage error for
  // options that exclude each other. `images` outlives the result.
  static void check_whole(const WholeCommand& whole, const ImageOptions& options);
  WholeOptions whole_options(const WholeCommand& whole, const SampleSource& images) const;

  // Calls `work` with the images, which are to be processed batch by batch until all are done or
  // `advance` says that Ctrl-C was pressed.
  void run(const std::function<void(const SampleSource& images)>& work);
  // Between a batch's results and the next batch: hide_progress before anything is printed, advance
  // afterwards. False: no more.
  void hide_progress();
  bool advance(size_t images);

  // An image without a result: reported on standard error, and remembered for the exit status.
  void reject(const std::string& reason);
  bool complete() const { return done_ == static_cast<int64_t>(files_.size()); }
  int exit_status() const;

 private:
  ImageOptions options_;
  std::vector<std::string> all_files_, files_;
  std::vector<ImageOrigin> all_origins_, origins_;  // of these
  std::vector<std::shared_ptr<const Archive>> archives_;
  std::vector<size_t> positions_;      // of files_ in all_files_
  std::vector<std::string> problems_;  // of finding them
  std::optional<Progress> progress_;   // while they run
  int64_t done_ = 0;
  int64_t rejected_ = 0;
  int64_t results_before_ = 0, errors_before_ = 0;
};

}  // namespace vig::cli
