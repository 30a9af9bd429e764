#include "vig/cli/large_images.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>

#include "vig/base/error.h"
#include "vig/cli/image_stream.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/output.h"
#include "vig/image/region_formats.h"

namespace vig::cli {
namespace {

Json file_stamp(const std::string& file) {
  struct stat status = {};
  if (file.empty() || ::stat(file.c_str(), &status) != 0) return Json();
  return Json::array({static_cast<int64_t>(status.st_size),
                      static_cast<int64_t>(status.st_mtim.tv_sec),
                      static_cast<int64_t>(status.st_mtim.tv_nsec)});
}

}  // namespace

bool LargeOptions::given() const {
  return level >= 0 || !region.empty() || mpp > 0 || overlap >= 0 || skip_background;
}

WindowOptions LargeOptions::windows(int window, int size) const {
  WindowOptions windows;
  if (level >= 0) windows.level = level;
  if (!region.empty()) windows.region = parse_region(region);
  if (mpp > 0) windows.mpp = mpp;
  windows.window = window;
  windows.overlap = overlap;
  windows.size = size;
  windows.skip_background = skip_background;
  return windows;
}

ImageRegion parse_region(const std::string& text) {
  int64_t numbers[4] = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 4; ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    const bool last = i == 3;
    if (error != std::errc() || (last ? next != end : next == end || *next != ',') ||
        numbers[i] < (i < 2 ? 0 : 1)) {
      fail_usage("--region {}, expected X,Y,W,H in pixels", text);
    }
    at = next + 1;
  }
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

void add_large_options(Command& command, LargeOptions& options, bool overlap) {
  constexpr const char* kGroup = "Large images";
  command
      .option("--level", options.level,
              "Level of the file's pyramid; 0 is the full image (default: 0, or by --mpp)")
      .range(0, 64)
      .value("N")
      .group(kGroup);
  command.option("--region", options.region, "Only this part, in pixels of the full image")
      .value("X,Y,W,H")
      .group(kGroup);
  command
      .option("--mpp", options.mpp,
              "Microns per pixel of the network's input; the file says what its pixels measure")
      .range(1e-6, 1e6)
      .value("M")
      .group(kGroup);
  if (overlap) {
    command.option("--overlap", options.overlap, "Pixels that neighbouring windows share")
        .range(0, 1 << 14)
        .value("N")
        .group(kGroup);
  }
  command
      .flag("--skip-background", options.skip_background,
            "Skip windows that are nearly white, black or of one brightness")
      .group(kGroup);
}

std::unique_ptr<RegionSource> open_large(const std::string& file, const NetworkOptions& options,
                                         bool always) {
  RegionLimits limits;
  limits.decode = options.decode();
  if (always) {
    if (is_stream(file)) {
      fail("{}: a stream, expected a file for windows at its own resolution",
           file == kStandardInput ? "standard input" : file);
    }
    return open_regions(file, limits);
  }
  if (is_stream(file)) return nullptr;
  const bool slide = has_slide_extension(file);
  try {
    // Without decoding formats that have no regions.
    std::unique_ptr<RegionSource> source =
        slide ? open_regions(file, limits)
              : open_file_regions(regular_file_bytes(std::make_shared<const ImageFile>(
                                      file, ImageFile::Kind::kRegular)),
                                  file, limits);
    if (source == nullptr) return nullptr;
    const RegionLevel& size = source->levels().front();
    if (slide || size.width > options.max_pixels / size.height) return source;
  } catch (const Error&) {  // decoding says what is wrong with it
  }
  return nullptr;
}

std::string work_line(const std::string& command, const std::string& image,
                      const NetworkOptions& options, const WindowPlan& plan, const Json& more) {
  const std::string model = options.model_file();
  const Json work = {{"version", VIG_VERSION},
                     {"command", command},
                     {"image", image},
                     {"image_file", file_stamp(image)},
                     {"model", model},
                     {"model_file", file_stamp(model)},
                     {"arch", options.model.arch},
                     {"fields", options.model.fields},
                     {"precision", options.precision.name},
                     {"float_layers", options.precision.float_layers},
                     {"orientation", !options.ignore_orientation},
                     {"level", plan.level},
                     {"region", Json::array({plan.region.x, plan.region.y, plan.region.width,
                                             plan.region.height})},
                     {"side", plan.side},
                     {"stride", plan.stride},
                     {"scale", plan.scale},
                     {"skip_background", plan.skip_background},
                     {"options", more}};
  return work.dump();
}

bool WindowProgress::advance(size_t windows) {
  progress_.advance(static_cast<int64_t>(windows));
  return !interrupted();
}

void complain_stopped(const std::string& image, const std::string& journal) {
  complain(fmt::format("{}: stopped; what was finished is in {}, and the same command continues",
                       image, journal));
}

void for_each_image(const ImageRun& images, const NetworkOptions& options, bool always,
                    const std::function<bool(const std::vector<size_t>& order)>& small,
                    const std::function<bool(size_t image, RegionSource& source)>& large,
                    const std::function<bool(size_t image, const std::string& error)>& failed) {
  constexpr size_t kTogether = 256;  // images whose headers are read before they run
  std::vector<size_t> order;
  const auto run_small = [&] {
    const bool more = order.empty() || small(order);
    order.clear();
    return more;
  };
  // What is wrong with one image leaves the others alone.
  const auto attempt = [&](size_t image, const std::function<bool()>& work) {
    std::string problem;
    try {
      return work();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUsage) throw;
      problem = error.what();
    }
    return run_small() && failed(image, problem);
  };
  for (size_t i = 0; i < images.files().size(); ++i) {
    std::unique_ptr<RegionSource> source;
    const bool opened = attempt(i, [&] {
      source = open_large(images.files()[i], options, always);
      if (source == nullptr) order.push_back(i);
      return true;
    });
    if (!opened) return;
    if (source == nullptr) {
      if (order.size() >= kTogether && !run_small()) return;
      continue;
    }
    if (!run_small() || !attempt(i, [&] { return large(i, *source); })) return;
  }
  run_small();
}

}  // namespace vig::cli
