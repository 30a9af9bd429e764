// Windows over an image of any size, read by regions: which ones there are, and how the network
// sees each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vig/base/recipe.h"
#include "vig/image/preprocess.h"
#include "vig/image/region_writer.h"
#include "vig/image/sliding_rows.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/windows.h"

namespace vig {

struct WindowOptions {
  std::optional<int> level = {};           // of the file's pyramid; not given: 0, or by `mpp`
  std::optional<ImageRegion> region = {};  // pixels of level 0; not given: the whole image
  // Microns along one pixel of the network's input. The level is the coarsest one that is not
  // coarser, and windows are resized from it.
  std::optional<double> mpp = {};
  int window = 0;  // side in pixels of the level; 0: the recipe's crop as the network sees it
  int overlap =
      -1;        // of neighbouring windows, in pixels of the level; below 0: a share of the side
  int size = 0;  // side of a window in the network's input; 0: not resized
  bool skip_background = false;
};

// What of an image the network sees, in which windows.
struct WindowPlan {
  int level = 0;
  ImageRegion region;     // pixels of the level
  double downsample = 1;  // pixels of level 0 along one of the level
  int side = 0, stride = 0;
  double scale = 1;  // pixels of the network's input along one of the level
  bool skip_background = false;

  // Pixels of the region to those of level 0.
  double full_x(double x) const { return (static_cast<double>(region.x) + x) * downsample; }
  double full_y(double y) const { return (static_cast<double>(region.y) + y) * downsample; }
  bool operator==(const WindowPlan&) const = default;
};

// `overlap`: share of the side that neighbours overlap by, where neither options nor recipe say it.
// Throws Error (usage) for options that do not fit the image, each named as the commands do.
WindowPlan plan_windows(const RegionSource& source, const Recipe& recipe,
                        const WindowOptions& options, double overlap);

// What of the image `region`, in pixels of level 0, is at a level: all pixels it touches. Throws
// Error (usage) where it is not inside of the image.
ImageRegion region_at(const RegionSource& source, int level, const ImageRegion& region);

// Of a file with the pixels of the plan's region.
TiffBandFormat band_format(const RegionSource& source, const WindowPlan& plan, int channels);

// Whether nothing is to be seen: at least 99 % of the pixels are nearly white (all channels at
// least 220), or nearly black (at most 12), or the brightness varies little (standard deviation
// below 4 of 255).
bool is_background(const Image& image);

// How a window of the image reaches the network: the recipe without its own resizing.
Recipe window_recipe(const Recipe& recipe, const WindowPlan& plan, int width, int height);

class RegionWindows {
 public:
  // The source outlives it.
  RegionWindows(RegionSource& source, const WindowPlan& plan, const Recipe& recipe);

  const WindowPlan& plan() const { return plan_; }
  int width() const { return rows_.width(); }
  int height() const { return rows_.height(); }
  const std::vector<InputWindow>& windows() const { return windows_; }
  const std::vector<std::span<const InputWindow>>& rows() const { return window_rows_; }

  // Reads what windows of one row show; rows come from the top.
  void load(std::span<const InputWindow> row);
  // Of the row that was loaded.
  Image pixels(const InputWindow& window) const {
    return rows_.cut(window.x, window.y, window.width, window.height);
  }
  // An image for the network, as the runner makes them.
  RunImage image(const InputWindow& window) const;
  // Whether the window is to be skipped: background, where the plan says so.
  bool skips(const RunImage& image) const;

 private:
  WindowPlan plan_;
  Recipe recipe_;
  SlidingRows rows_;
  std::vector<InputWindow> windows_;
  std::vector<std::span<const InputWindow>> window_rows_;
};

}  // namespace vig
