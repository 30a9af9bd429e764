// Images that are read by regions and processed in windows at their own resolution; shared by the
// commands that do so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/cli/command_line.h"
#include "vig/cli/image_command.h"
#include "vig/cli/progress.h"
#include "vig/image/region_source.h"
#include "vig/pipeline/region_windows.h"

namespace vig::cli {

// --level, --region, --mpp, --overlap and --skip-background.
struct LargeOptions {
  int level = -1;  // below 0: not given
  std::string region;
  double mpp = 0;    // 0: not given
  int overlap = -1;  // below 0: not given
  bool skip_background = false;

  // Whether one of them was given: images are then processed at their own resolution.
  bool given() const;
  // Throws Error (usage) for a region that is none.
  WindowOptions windows(int window, int size) const;
};
void add_large_options(Command& command, LargeOptions& options, bool overlap = true);
// "X,Y,W,H"; throws a usage error on anything else.
ImageRegion parse_region(const std::string& text);

// Regions of an image that is to be processed at its own resolution: one above --max-pixels whose
// format is read by regions, a slide, or any one where `always`. Null: it is to be decoded whole.
// Throws Error only where `always`.
std::unique_ptr<RegionSource> open_large(const std::string& file, const NetworkOptions& options,
                                         bool always);

// All that decides on a result, on one line: the image and the model with their sizes and times,
// the plan, the options of every command, and `more` of this one.
std::string work_line(const std::string& command, const std::string& image,
                      const NetworkOptions& options, const WindowPlan& plan, const Json& more);

// Progress of windows, from `done` on. `advance` is false when Ctrl-C was pressed.
class WindowProgress {
 public:
  WindowProgress(size_t all, size_t done)
      : progress_(static_cast<int64_t>(all - done), "windows") {}

  bool advance(size_t windows);

 private:
  Progress progress_;
};

// Says on standard error that the work of an image was stopped, and that the same command resumes.
void complain_stopped(const std::string& image, const std::string& journal);

// Handles images in their order: `small` for those to be decoded whole, several at a time, `large`
// for each one that open_large gives. All give false to end the work.
void for_each_image(const ImageRun& images, const NetworkOptions& options, bool always,
                    const std::function<bool(const std::vector<size_t>& order)>& small,
                    const std::function<bool(size_t image, RegionSource& source)>& large,
                    const std::function<bool(size_t image, const std::string& error)>& failed);

}  // namespace vig::cli
