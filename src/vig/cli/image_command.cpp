#include "vig/cli/image_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/cli/find_images.h"
#include "vig/cli/image_stream.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/options.h"
#include "vig/cli/output.h"
#include "vig/cli/program.h"
#include "vig/image/region_source.h"
#include "vig/pipeline/default_model.h"

namespace vig::cli {
namespace {

// Decoded tiles of an image that is read line by line, at most: a row of tiles of 256 lines and
// 64,000 pixels.
constexpr uint64_t kWholeCacheBytes = uint64_t{48} << 20;

}  // namespace

std::string NetworkOptions::model_file() const { return resolve_model(model.model, task); }

DecodeOptions NetworkOptions::decode() const {
  DecodeOptions decode;
  decode.apply_orientation = !ignore_orientation;
  decode.max_pixels = max_pixels;
  return decode;
}

RunOptions NetworkOptions::run(size_t images) const {
  RunOptions run;
  run.threads = threads;
  run.batch = batch;
  run.size = size;
  run.images = images;
  run.precision = precision.precision();
  run.on_fewer_threads = [](int started, int asked) {
    complain(
        fmt::format("runs on {} of {} threads: the system starts no more (limit of threads "
                    "or memory)",
                    started, asked));
  };
  return run;
}

void add_network_options(Command& command, NetworkOptions& options) {
  command
      .option("-m,--model", options.model.model,
              "Weight file, .safetensors or .pth, or a model that comes with vig: default, segment "
              "or detect (default: the one of the task)")
      .value("FILE");
  add_model_changes(command, options.model);
  const bool classify = options.task == ModelTask::kClassify;
  command
      .option("--size", options.size,
              fmt::format("{} in pixels, 1 to {} (default: from the weight file)",
                          classify ? "Side of the network's square input"
                                   : "Short side of images in the network's input",
                          kMaxInputSide))
      .range(1, kMaxInputSide)
      .value("N");
  if (classify) {
    command
        .option("--batch", options.batch,
                "Batch size (default: 8 at 224 x 224, smaller for larger inputs)")
        .range(1, 4096)
        .value("N");
  }
  add_threads(command, options.threads);
  add_precision(command, options.precision);
  command.flag("--ignore-orientation", options.ignore_orientation,
               "Ignore the EXIF orientation, as torchvision does (default: rotate images by it)");
  if (classify) return add_max_pixels(command, options.max_pixels);
  command
      .option("--max-pixels", options.max_pixels,
              "Process larger images in windows at their own resolution if their format is read by "
              "regions, and reject others")
      .range(int64_t{1}, std::numeric_limits<int64_t>::max())
      .show_default()
      .value("N");
}

void add_image_options(Command& command, ImageOptions& options) {
  command
      .option("images", options.inputs,
              options.tar_files
                  ? "Image files, folders (searched recursively), tar files or quoted patterns; - "
                    "reads standard input"
                  : "Image files, folders (searched recursively) or quoted patterns; - reads "
                    "standard input")
      .required()
      .value("IMAGE");
  add_network_options(command, options);
  add_shard(command, options.shard);
}

void add_whole_options(Command& command, WholeCommand& options) {
  command.flag("--whole", options.whole,
               "Run the network on the whole image at its own size, read line by line");
  command
      .option("--max-memory", options.max_memory,
              "Memory of --whole, such as 500MB or 1.5GB; results do not depend on it (default: "
              "what is free)")
      .value("SIZE");
  command
      .option("--scratch", options.scratch,
              "Folder of --whole for what exceeds --max-memory; nothing stays in it (default: that "
              "of temporary files)")
      .value("DIR");
}

ModelSource chosen_source(const NetworkOptions& options) {
  ModelRequest request = options.model.request();
  request.task = options.task;
  return find_source(request);
}

std::string default_model_note(const ModelSource& source, const NetworkOptions& options) {
  constexpr size_t kNamesShown = 20;
  if (!options.model.model.empty()) return "";
  return fmt::format("default model: {}, {} classes{}{}", source.spec.name,
                     model_classes(source.spec), source.classes.empty() ? "" : ": ",
                     printable_list(source.classes, kNamesShown));
}

std::string warning_lines(const std::vector<ImageWarning>& warnings) {
  std::string lines;
  for (const ImageWarning& one : warnings) lines += fmt::format("  warning: {}\n", one.message);
  return lines;
}

ImageRun::ImageRun(const ImageOptions& options) : options_(options) {
  const Shard shard = parse_shard(options.shard);
  FoundImages found = find_images(options.inputs, options.tar_files);
  all_files_ = std::move(found.files);
  all_origins_ = std::move(found.origins);
  archives_ = std::move(found.archives);
  for (size_t i = shard.first(all_files_.size()); i < shard.last(all_files_.size()); ++i) {
    files_.push_back(all_files_[i]);
    origins_.push_back(all_origins_[i]);
    positions_.push_back(i);
  }
  // What is wrong with the list is said by the job with its first part.
  if (shard.index == 1) problems_ = std::move(found.problems);
}

void ImageRun::leave_out(const std::function<bool(const std::string& file)>& done, int64_t results,
                         int64_t errors) {
  size_t kept = 0;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (done(files_[i])) continue;
    if (kept != i) files_[kept] = std::move(files_[i]);
    origins_[kept] = origins_[i];
    positions_[kept++] = positions_[i];
  }
  files_.resize(kept);
  origins_.resize(kept);
  positions_.resize(kept);
  results_before_ = results;
  errors_before_ = errors;
}

void ImageRun::check_whole(const WholeCommand& whole, const ImageOptions& options) {
  if (!whole.whole) {
    if (!whole.max_memory.empty()) fail_usage("--max-memory needs --whole");
    if (!whole.scratch.empty()) fail_usage("--scratch needs --whole");
    return;
  }
  if (!whole.max_memory.empty()) parse_bytes("--max-memory", whole.max_memory);
  if (options.size != 0) fail_usage("--whole and --size exclude each other");
  if (options.batch != 0) fail_usage("--whole and --batch exclude each other");
}

WholeOptions ImageRun::whole_options(const WholeCommand& whole, const SampleSource& images) const {
  WholeOptions options;
  if (!whole.max_memory.empty()) {
    options.max_memory = parse_bytes("--max-memory", whole.max_memory);
  }
  options.scratch = whole.scratch;
  RegionLimits limits;
  limits.decode = options_.decode();
  limits.cache_bytes = std::min(kWholeCacheBytes, options.max_memory.value_or(UINT64_MAX) / 8);
  options.read_bytes = limits.cache_bytes;
  options.open = [this, &images, limits](size_t sample) {
    if (origins_[sample].in_archive() || is_stream(files_[sample]))
      return regions_of(*images.load(sample).image, limits);
    return open_regions(files_[sample], limits);
  };
  return options;
}

FileRoles ImageRun::roles() const {
  FileRoles roles;
  roles.read("model", options_.model_file());
  roles.read_images(all_files_, all_origins_);
  return roles;
}

void ImageRun::run(const std::function<void(const SampleSource& images)>& work) {
  for (const std::string& problem : problems_) complain(problem);
  catch_interrupt();
  const CommandImages images(files_, origins_, archives_, options_.decode());
  progress_.emplace(static_cast<int64_t>(files_.size()), "images");
  try {
    work(images);
  } catch (const StreamInterrupted&) {
  }
  hide_progress();
  if (!complete()) complain(fmt::format("stopped after {} of {} images", done_, files_.size()));
}

void ImageRun::hide_progress() { progress_->hide(); }

bool ImageRun::advance(size_t images) {
  flush_output();
  done_ += static_cast<int64_t>(images);
  progress_->advance(static_cast<int64_t>(images));
  return !interrupted();
}

void ImageRun::reject(const std::string& reason) {
  ++rejected_;
  complain(reason);
}

int ImageRun::exit_status() const {
  if (!complete()) return interrupted_exit();
  const bool any_bad = rejected_ + errors_before_ > 0 || !problems_.empty();
  return finished_exit(done_ - rejected_ + results_before_ > 0, any_bad);
}

}  // namespace vig::cli
