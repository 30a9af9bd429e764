#include "vig/cli/large_segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vig/base/error.h"
#include "vig/cli/image_outputs.h"
#include "vig/cli/interrupt.h"
#include "vig/cli/journal.h"
#include "vig/image/encode_png.h"
#include "vig/image/shrink_rows.h"
#include "vig/image/sliding_rows.h"
#include "vig/pipeline/runner.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/overlay.h"
#include "vig/weights/atomic_file.h"

namespace vig::cli {
namespace {

// Rows of labels as runs: a label and how often it follows, seven bits a byte.
std::string packed(const LabelMap& labels) {
  std::string runs;
  const std::vector<uint8_t>& all = labels.labels;
  for (size_t i = 0, end = 0; i < all.size(); i = end) {
    while (end < all.size() && all[end] == all[i]) ++end;
    runs += static_cast<char>(all[i]);
    size_t count = end - i;
    for (; count >= 128; count /= 128) runs += static_cast<char>(count % 128 + 128);
    runs += static_cast<char>(count);
  }
  return runs;
}

LabelMap unpacked(const std::string& runs, int width, const std::string& file) {
  std::vector<uint8_t> all;
  for (size_t i = 0; i < runs.size();) {
    const auto label = static_cast<uint8_t>(runs[i++]);
    size_t count = 0;
    for (size_t factor = 1; i < runs.size(); factor *= 128) {
      const auto byte = static_cast<uint8_t>(runs[i++]);
      count += byte % 128 * factor;
      if (byte < 128) break;
    }
    if (count > (size_t{1} << 31) - all.size()) fail("{}: damaged", file);
    all.insert(all.end(), count, label);
  }
  LabelMap labels;
  labels.width = width;
  labels.height = static_cast<int>(all.size() / static_cast<size_t>(width));
  if (all.size() != static_cast<size_t>(labels.height) * static_cast<size_t>(width)) {
    fail("{}: labels that do not fill rows of {}", file, width);
  }
  labels.labels = std::move(all);
  return labels;
}

// The labels that a journal holds, and where they end.
class JournalLabels {
 public:
  JournalLabels(const Journal& journal, int width) : journal_(journal), width_(width) {}

  size_t size() const { return journal_.blocks(); }
  LabelMap block(size_t index) const {
    return index < size() ? unpacked(journal_.read(index), width_, journal_.path()) : LabelMap();
  }
  int rows() const {
    int64_t rows = 0;
    for (size_t i = 0; i < size(); ++i) rows += block(i).height;
    return static_cast<int>(rows);
  }

 private:
  const Journal& journal_;
  int width_;
};

// The labels of `block` and the first `more` rows of the one below it.
LabelMap with_rows_below(const LabelMap& block, const LabelMap& below, int more) {
  LabelMap both = block;
  const int rows = std::min(more, below.height);
  both.labels.insert(both.labels.end(), below.labels.begin(),
                     below.labels.begin() + static_cast<std::ptrdiff_t>(rows) * block.width);
  both.height += rows;
  return both;
}

// Everything from the journal, in one pass over the image.
std::optional<LabelCounts> write_files(RegionSource& source, const WindowPlan& plan,
                                       const std::vector<std::string>& classes,
                                       const JournalLabels& labels,
                                       const LargeSegmentFiles& files) {
  SlidingRows image(source, plan.level, plan.region);
  DrawingScale scale = drawing_scale(image.width(), image.height());
  scale.image = 1;
  const std::vector<Color> palette = class_palette(256, classes);
  AtomicFile label_file(files.labels), overlay_file(files.overlay), preview_file(files.preview);
  TiffBandFormat label_format = band_format(source, plan, 1);
  label_format.palette = palette;
  label_format.palette[kNoLabel] = {0, 0, 0};
  TiffBandWriter label_tiff(byte_sink(label_file), label_format);
  TiffBandWriter overlay_tiff(byte_sink(overlay_file), band_format(source, plan, 3));
  RowShrinker preview(image.width(), image.height(), kPreviewSide);
  LabelCounts counts = {};
  LabelMap block = labels.block(0);
  int first = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (interrupted()) return std::nullopt;
    LabelMap below = labels.block(i + 1);
    for (const uint8_t label : block.labels) ++counts[label];
    label_tiff.write_rows(block.labels.data(), block.height);
    image.keep(first, first + block.height);
    Image drawn = image.cut(0, first, image.width(), block.height);
    draw_labels(drawn, with_rows_below(block, below, scale.line), palette, scale, {});
    overlay_tiff.write_rows(drawn.rgb.data(), drawn.height);
    preview.add(drawn.rgb.data(), drawn.height);
    first += block.height;
    block = std::move(below);
  }
  label_tiff.finish();
  overlay_tiff.finish();
  const Image small = preview.finish();
  const std::vector<uint8_t> png = encode_png(draw_legend(
      small, area_shares(counts), classes, {}, drawing_scale(small.width, small.height).text));
  preview_file.write(png.data(), png.size());
  label_file.commit();
  overlay_file.commit();
  preview_file.commit();
  return counts;
}

}  // namespace

std::optional<LabelCounts> segment_large(const Segmenter& segmenter, RegionSource& source,
                                         const WindowPlan& plan,
                                         const std::vector<std::string>& classes,
                                         const std::string& work, const LargeSegmentFiles& files) {
  Journal journal(files.journal, work);
  const JournalLabels labels(journal, static_cast<int>(plan.region.width));
  const int first_row = labels.rows();
  bool complete = first_row >= plan.region.height;
  if (!complete) {
    RegionWindows windows(source, plan, segmenter.runner().recipe());
    const auto done = static_cast<size_t>(std::ranges::count_if(
        windows.windows(),
        [&](const InputWindow& window) { return window.y + window.height <= first_row; }));
    WindowProgress progress(windows.windows().size(), done);
    SegmentSteps steps;
    steps.on_rows = [&](int, Segmentation rows) { journal.append(packed(rows.labels)); };
    steps.on_windows = [&](size_t count) { return progress.advance(count); };
    complete = segmenter.segment(windows, steps, first_row);
  }
  std::optional<LabelCounts> counts;
  if (complete) counts = write_files(source, plan, classes, labels, files);
  if (counts) {
    journal.remove();
  } else {
    complain_stopped(files.labels, files.journal);
  }
  return counts;
}

}  // namespace vig::cli
