#include "vig/cli/large_detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "vig/base/error.h"
#include "vig/cli/image_outputs.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/journal.h"
#include "vig/image/draw.h"
#include "vig/image/encode_png.h"
#include "vig/image/shrink_rows.h"
#include "vig/image/sliding_rows.h"
#include "vig/pipeline/object_json.h"
#include "vig/pipeline/runner.h"
#include "vig/pipeline/window_detector.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/overlay.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

// A block of the journal, one for each row of windows: how many windows were full, how many
// objects were finished, their lines, and the state of the merger.
struct RowBlock {
  int64_t full_windows = 0;
  struct Line {
    size_t offset = 0;  // in the block
    std::string_view text;
  };
  std::vector<Line> lines;
  std::string_view state;
};

RowBlock parse_row_block(std::string_view block, const std::string& file) {
  size_t at = 0;
  const auto next_line = [&] {
    const size_t end = block.find('\n', at);
    if (end == std::string_view::npos) fail("{}: damaged", file);
    const RowBlock::Line line{at, block.substr(at, end - at)};
    at = end + 1;
    return line;
  };
  const auto number = [&](std::string_view text) {
    int64_t value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (value < 0) fail("{}: damaged", file);
    return value;
  };
  RowBlock parsed;
  parsed.full_windows = number(next_line().text);
  const int64_t count = number(next_line().text);
  for (int64_t i = 0; i < count; ++i) parsed.lines.push_back(next_line());
  parsed.state = block.substr(at);
  return parsed;
}

std::string block_text(const std::vector<LargeObject>& finished, int64_t full_windows,
                       const std::string& state) {
  std::string text = fmt::format("{}\n{}\n", full_windows, finished.size());
  for (const LargeObject& object : finished) text += object_line(object) + "\n";
  return text + state;
}

// Where an object is in the journal and in the image.
struct ObjectPlace {
  int64_t top = 0, bottom = 0;
  size_t block = 0, offset = 0, bytes = 0;
  size_t number = 0;  // of all, which decides on its colour
};

struct ShownObject {
  LargeObject object;
  size_t number = 0;
};

// Masks and boxes over rows of the image from `first` on, the best object on top.
void draw_objects(Image& rows, int64_t first, std::vector<ShownObject>& objects,
                  const DrawingScale& scale) {
  std::ranges::stable_sort(objects, {}, [](const ShownObject& one) { return one.object.score; });
  for (const auto& [object, number] : objects) {
    draw_mask(rows, object.mask, static_cast<int>(object.mask_x),
              static_cast<int>(object.mask_y - first), scale, class_color(number), {});
  }
  for (const auto& [object, number] : objects) {
    const auto x = static_cast<int>(std::lround(object.x1));
    const auto y = static_cast<int>(std::llround(object.y1) - first);
    const int width = std::max(1, static_cast<int>(std::lround(object.x2)) - x);
    const int height =
        std::max(1, static_cast<int>(std::llround(object.y2) - std::llround(object.y1)));
    const int line = std::clamp(std::min(width, height) / 8, 1, scale.line);
    draw_rectangle(rows, x, y, width, height, line, class_color(number));
  }
}

class LargeDrawing {
 public:
  LargeDrawing(RegionSource& source, const WindowPlan& plan, const Journal& journal,
               std::vector<ObjectPlace> places)
      : source_(source), plan_(plan), journal_(journal), places_(std::move(places)) {
    std::ranges::stable_sort(places_, {}, &ObjectPlace::top);
  }

  // False where Ctrl-C was pressed.
  bool write(AtomicFile& drawing, AtomicFile& preview_file) {
    constexpr int kRows = 256;
    SlidingRows image(source_, plan_.level, plan_.region);
    DrawingScale scale = drawing_scale(image.width(), image.height());
    scale.image = 1;
    TiffBandWriter tiff(byte_sink(drawing), band_format(source_, plan_, 3));
    RowShrinker preview(image.width(), image.height(), kPreviewSide);
    for (int first = 0; first < image.height(); first += kRows) {
      if (interrupted()) return false;
      const int count = std::min(kRows, image.height() - first);
      image.keep(first, first + count);
      Image rows = image.cut(0, first, image.width(), count);
      std::vector<ShownObject> objects = objects_in(first, first + count);
      draw_objects(rows, first, objects, scale);
      tiff.write_rows(rows.rgb.data(), rows.height);
      preview.add(rows.rgb.data(), rows.height);
    }
    tiff.finish();
    const std::vector<uint8_t> png = encode_png(preview.finish());
    preview_file.write(png.data(), png.size());
    return true;
  }

 private:
  std::vector<ShownObject> objects_in(int64_t first, int64_t last) {
    for (; next_ < places_.size() && places_[next_].top < last; ++next_) {
      shown_.push_back(places_[next_]);
    }
    std::erase_if(shown_, [&](const ObjectPlace& place) { return place.bottom <= first; });
    std::vector<ShownObject> objects;
    for (const ObjectPlace& place : shown_) {
      objects.push_back(
          {parse_object_line(journal_.read(place.block, place.offset, place.bytes)), place.number});
    }
    return objects;
  }

  RegionSource& source_;
  const WindowPlan& plan_;
  const Journal& journal_;
  std::vector<ObjectPlace> places_;
  size_t next_ = 0;                 // of those that are not reached yet
  std::vector<ObjectPlace> shown_;  // that reach into the rows
};

std::optional<ObjectCounts> write_files(RegionSource& source, const WindowPlan& plan,
                                        const std::vector<std::string>& classes, size_t labels,
                                        const Journal& journal, const LargeDetectFiles& files) {
  AtomicFile lines(files.lines), geojson(files.geojson), drawing(files.drawing),
      preview(files.preview);
  const auto put = [](AtomicFile& file, const std::string& text) {
    file.write(text.data(), text.size());
  };
  ObjectCounts counts;
  counts.by_label.resize(labels);
  std::vector<ObjectPlace> places;
  put(geojson, geojson_begin(source.geo_transform()));
  for (size_t i = 0; i < journal.blocks(); ++i) {
    if (interrupted()) return std::nullopt;
    const std::string text = journal.read(i);
    const RowBlock block = parse_row_block(text, journal.path());
    counts.full_windows += block.full_windows;
    for (const RowBlock::Line& line : block.lines) {
      const LargeObject object = parse_object_line(line.text);
      put(lines, object_json(object, plan, classes) + "\n");
      put(geojson, (counts.objects > 0 ? ",\n" : "") +
                       object_feature(object, plan, source.geo_transform(), classes));
      const auto box_top = static_cast<int64_t>(std::floor(object.y1));
      places.push_back({object.mask.height > 0 ? std::min(box_top, object.mask_y) : box_top,
                        object.bottom() + 1, i, line.offset, line.text.size(),
                        static_cast<size_t>(counts.objects)});
      ++counts.objects;
      ++counts.by_label.at(static_cast<size_t>(object.label));
    }
  }
  put(geojson, geojson_end());
  if (!LargeDrawing(source, plan, journal, std::move(places)).write(drawing, preview)) {
    return std::nullopt;
  }
  for (AtomicFile* file : {&lines, &geojson, &drawing, &preview}) file->commit();
  return counts;
}

}  // namespace

std::optional<ObjectCounts> detect_large(const Detector& detector, RegionSource& source,
                                         const WindowPlan& plan,
                                         const std::vector<std::string>& classes,
                                         const std::string& work, const LargeDetectFiles& files) {
  Journal journal(files.journal, work);
  bool complete = false;
  {
    RegionWindows windows(source, plan, detector.runner().recipe());
    ObjectMerger merger(windows.width(), windows.height());
    const size_t first_row = std::min(journal.blocks(), windows.rows().size());
    size_t done = 0;
    for (size_t i = 0; i < first_row; ++i) done += windows.rows()[i].size();
    if (first_row > 0) {
      const std::string last = journal.read(first_row - 1);
      merger.restore(parse_row_block(last, journal.path()).state);
    }
    WindowProgress progress(windows.windows().size(), done);
    DetectSteps steps;
    steps.on_row = [&](size_t, const std::vector<LargeObject>& finished, int64_t full) {
      journal.append(block_text(finished, full, merger.state()));
    };
    steps.on_windows = [&](size_t count) { return progress.advance(count); };
    complete = detect_windows(detector, windows, merger, steps, first_row);
  }
  std::optional<ObjectCounts> counts;
  if (complete) {
    const auto labels = static_cast<size_t>(model_classes(detector.runner().spec()));
    counts = write_files(source, plan, classes, labels, journal, files);
  }
  if (counts) {
    journal.remove();
  } else {
    complain_stopped(files.lines, files.journal);
  }
  return counts;
}

}  // namespace vig::cli
