// Operators on maps and labels, and the figures of merit.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "vig/base/error.h"
#include "vig/base/thread_pool.h"
#include "vig/kernels/map_resize.h"
#include "vig/kernels/position.h"
#include "vig/tasks/coco_metrics.h"
#include "vig/tasks/label_pixels.h"
#include "vig/tasks/segmentation_metrics.h"
#include "vig/tasks/windows.h"
#include "vig/verify/operators.h"

namespace vig {
namespace {

// Classes of a stand-in network, and other sizes that the memory grows with.
constexpr int kMostClasses = 255;

std::vector<float> resized(const Comparison& c, const std::string& name, bool nearest) {
  const Shape &in = c.shape("input", 4), &out = c.shape(name, 4);
  const std::vector<float> from = c.rows("input");
  std::vector<float> to(static_cast<size_t>(out.elements()));
  const MapGrids grids =
      (nearest ? MapGrids::nearest : MapGrids::bilinear)(in[2], in[3], out[2], out[3]);
  MapResizeArgs args;
  args.grids = &grids;
  args.in = from.data();
  args.in_stride = args.channels = args.out_stride = in[1];
  args.last_row = out[0] * out[2] * out[3];
  args.out = to.data();
  map_resize(args);
  return to;
}

std::vector<float> bicubic(const Comparison& c, const std::string& input, const std::string& name) {
  const Shape &in = c.shape(input, 4), &out = c.shape(name, 4);
  const std::vector<float> from = c.rows(input);
  std::vector<float> to(static_cast<size_t>(out.elements()));
  for (int64_t i = 0; i < in[0]; ++i) {
    resize_positions({from.data() + i * in[1] * in[2] * in[3], in[2], in[3], in[1],
                      to.data() + i * out[1] * out[2] * out[3], out[2], out[3]});
  }
  return to;
}

void check_same_maps(const Comparison& c, const std::string& input, const std::string& name) {
  const Shape &in = c.shape(input, 4), &out = c.shape(name, 4);
  if (in[0] == out[0] && in[1] == out[1]) return;
  fail("{}: {} is {}, expected the images and channels of {}, {}", c.golden().file, name, out.str(),
       input, in.str());
}

}  // namespace

// Corners that keep their positions, and factors that make no whole size, are used by no operation
// here.
void verify_interpolation(Comparison& c) {
  for (const std::string& name : c.names_under("")) {
    const bool position = name.starts_with("pos/") && name != "pos/input";
    const bool cubic = name.starts_with("bicubic/align_false/");
    const bool nearest = name.starts_with("nearest/");
    bool linear = name.starts_with("bilinear/align_false/");
    if (name.starts_with("bilinear_scale/")) {
      const Shape &in = c.shape("input", 4), &out = c.shape(name, 4);
      linear = out[2] % in[2] == 0 && out[3] % in[3] == 0;
    }
    const std::string input = position ? "pos/input" : "input";
    if (!position && !cubic && !nearest && !linear) continue;
    check_same_maps(c, input, name);
    c.map(name, position || cubic ? bicubic(c, input, name) : resized(c, name, nearest));
  }
}

namespace {

// The stand-in network of such a case: a rectifier, and a convolution that sees its borders.
std::vector<float> stand_in(const std::vector<float>& input, int width, const InputWindow& window,
                            const std::vector<float>& weight, const std::vector<float>& bias) {
  std::vector<float> out;
  for (int y = 0; y < window.height; ++y) {
    for (int x = 0; x < window.width; ++x) {
      for (size_t k = 0; k < bias.size(); ++k) {
        double sum = bias[k];
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) {
            if (y + dy < 0 || y + dy >= window.height || x + dx < 0 || x + dx >= window.width) {
              continue;
            }
            const auto at = static_cast<size_t>((window.y + y + dy) * width + window.x + x + dx);
            const auto tap = static_cast<size_t>((dy + 1) * 3 + dx + 1);
            for (size_t channel = 0; channel < 3; ++channel) {
              sum += std::max(0.0f, input[at * 3 + channel]) * weight[(k * 3 + channel) * 9 + tap];
            }
          }
        }
        out.push_back(static_cast<float>(sum));
      }
    }
  }
  return out;
}

// Classes of pixels, except where the two best are as good as equal.
void compare_labels(Comparison& c, const std::string& number, const LabelMap& found) {
  std::vector<int64_t> expected = c.whole("pred/" + number);
  const std::vector<float> logits = c.rows("resized/" + number);
  const size_t classes = logits.size() / std::max<size_t>(expected.size(), 1);
  std::vector<int64_t> labels(found.labels.begin(), found.labels.end());
  for (size_t p = 0; p < expected.size() && p < labels.size(); ++p) {
    std::vector<float> sorted(logits.begin() + static_cast<std::ptrdiff_t>(p * classes),
                              logits.begin() + static_cast<std::ptrdiff_t>((p + 1) * classes));
    std::ranges::sort(sorted, std::greater<float>());
    if (sorted.size() > 1 && sorted[0] - sorted[1] <= 1e-4f) expected[p] = labels[p];
  }
  c.counts("pred/" + number, expected, labels);
}

}  // namespace

void verify_slide(Comparison& c) {
  const GridSize crop = c.size("crop"), stride = c.size("stride");
  if (crop.height != crop.width || stride.height != stride.width ||
      4 * stride.height < crop.height) {
    fail("{}: expected square windows that move by a quarter of them or more", c.golden().file);
  }
  const int64_t classes = c.shape("bias", 1)[0];
  const std::vector<float> weight = c.floats("weight", {classes, 3, 3, 3}), bias = c.floats("bias");
  ThreadPool pool(1);
  for (const std::string& number : c.names_under("input/")) {
    const Shape& in = c.shape("input/" + number, 4);
    if (in[0] != 1 || in[1] != 3 || in[2] > 4096 || in[3] > 4096 || classes > kMostClasses) {
      fail("{}: input/{} is {}, expected one image", c.golden().file, number, in.str());
    }
    const auto height = static_cast<int>(in[2]), width = static_cast<int>(in[3]);
    c.floats("logits/" + number, {1, classes, height, width});
    const std::vector<float> input = c.rows("input/" + number);
    std::vector<WindowLogits> windows;
    std::vector<int64_t> corners;
    for (const InputWindow& window : sliding_windows(width, height, crop.height, stride.height)) {
      corners.insert(corners.end(),
                     {window.y, window.x, window.y + window.height, window.x + window.width});
      windows.push_back(
          {window, window.height, window.width, stand_in(input, width, window, weight, bias)});
    }
    c.integers("windows/" + number, corners);
    const LogitField field(width, height, static_cast<int>(classes), std::move(windows));
    std::vector<float> logits, row(static_cast<size_t>(width * classes)), scratch;
    for (int y = 0; y < height; ++y) {
      field.row(y, row, scratch);
      logits.insert(logits.end(), row.begin(), row.end());
    }
    c.map("logits/" + number, logits);
    const Shape& original = c.shape("pred/" + number, 3);
    const Segmentation found = label_pixels(field, static_cast<int>(original[2]),
                                            static_cast<int>(original[1]), false, pool);
    compare_labels(c, number, found.labels);
  }
}

void verify_miou(Comparison& c) {
  const int classes = c.count("num_classes", kMostClasses);
  const auto ignored = static_cast<int64_t>(c.number("ignore_index"));
  const bool shifted = c.text("reduce_zero_label") == Json(true);
  SegmentationMetrics metrics(classes);
  for (const std::string& number : c.names_under("pred/")) {
    const Shape& shape = c.shape("pred/" + number, 2);
    LabelMap predicted(static_cast<int>(shape[1]), static_cast<int>(shape[0]));
    predicted.labels.clear();
    LabelMap truth = predicted;
    for (const int64_t label : c.whole("label_raw/" + number, shape)) {
      const bool none = label == ignored || (shifted && label == 0);
      truth.labels.push_back(none ? kNoLabel : static_cast<uint8_t>(label - (shifted ? 1 : 0)));
    }
    for (const int64_t label : c.whole("pred/" + number)) {
      predicted.labels.push_back(static_cast<uint8_t>(label));
    }
    metrics.add(predicted, truth);
  }
  // What is not defined is 0 of 0 in both.
  const auto compare = [&](const std::string& name, std::vector<double> found) {
    std::vector<double> expected = c.doubles(name);
    std::vector<float> a, b;
    for (size_t i = 0; i < expected.size() && i < found.size(); ++i) {
      const bool none = std::isnan(expected[i]) && std::isnan(found[i]);
      a.push_back(none ? 0.0f : static_cast<float>(expected[i]));
      b.push_back(none ? 0.0f : static_cast<float>(found[i]));
    }
    b.resize(std::max(b.size(), found.size()));
    c.values(name, a, b);
  };
  compare("summary", {metrics.pixel_accuracy(), metrics.mean_iou(), metrics.mean_accuracy()});
  std::vector<double> iou, accuracy, both, predicted, labelled, confusion;
  for (const ClassOverlap& one : metrics.per_class()) {
    iou.push_back(one.iou());
    accuracy.push_back(one.accuracy());
    both.push_back(static_cast<double>(one.both));
    predicted.push_back(static_cast<double>(one.predicted));
    labelled.push_back(static_cast<double>(one.labelled));
  }
  for (int truth = 0; truth < classes; ++truth) {
    for (int found = 0; found < classes; ++found) {
      confusion.push_back(static_cast<double>(metrics.confused(truth, found)));
    }
  }
  compare("iou", iou);
  compare("acc", accuracy);
  compare("intersect", both);
  compare("pred_area", predicted);
  compare("label_area", labelled);
  compare("confusion", confusion);
}

namespace {

struct Scene {
  std::vector<CocoTruth> truths;
  std::vector<CocoDetection> detections;
};

size_t index_of(const Comparison& c, const std::vector<double>& all, int64_t value) {
  const auto found = std::ranges::find(all, static_cast<double>(value));
  if (found == all.end()) fail("{}: an id {} that is not listed", c.golden().file, value);
  return static_cast<size_t>(found - all.begin());
}

std::vector<Scene> scenes_of(const Comparison& c, const std::vector<double>& images) {
  const std::vector<double> categories = c.numbers("category_ids");
  const GridSize size = c.size("image_size");
  std::vector<Scene> scenes(images.size());
  for (const std::string kind : {"gt", "dt"}) {
    const std::vector<int64_t> image = c.whole(kind + "/image_id");
    const auto count = static_cast<int64_t>(image.size());
    const std::vector<int64_t> category = c.whole(kind + "/category_id", {count});
    const std::vector<int64_t> counts = c.whole(kind + "/rle_counts");
    const std::vector<int64_t> offsets = c.whole(kind + "/rle_offsets", {count + 1});
    c.floats(kind + "/bbox_xywh", {count, 4});
    const std::vector<double> box = c.doubles(kind + "/bbox_xywh");
    const bool truths = kind == "gt";
    const std::vector<double> number = c.doubles(truths ? "gt/area" : "dt/score");
    const std::vector<int64_t> crowd =
        truths ? c.whole("gt/iscrowd", {count}) : std::vector<int64_t>();
    if (static_cast<int64_t>(number.size()) != count) {
      fail("{}: {} numbers for {} objects", c.golden().file, number.size(), count);
    }
    for (size_t i = 0; i < image.size(); ++i) {
      Scene& scene = scenes[index_of(c, images, image[i])];
      const CocoBox where(box[4 * i], box[4 * i + 1], box[4 * i + 2], box[4 * i + 3]);
      const int label = static_cast<int>(index_of(c, categories, category[i]));
      Mask mask{size.width, size.height, {}};
      int64_t pixels = 0;
      for (int64_t at = offsets[i]; at < offsets[i + 1]; ++at) {
        const int64_t run = counts.at(static_cast<size_t>(at));
        if (run < 0 || run > size.positions()) fail("{}: a run of {}", c.golden().file, run);
        pixels += run;
        mask.runs.push_back(static_cast<uint32_t>(run));
      }
      if (pixels != size.positions()) {
        fail("{}: the mask of object {} has {} pixels, expected {}", c.golden().file, i, pixels,
             size.positions());
      }
      if (truths) {
        scene.truths.push_back({where, label, crowd[i] != 0, number[i], std::move(mask)});
      } else {
        scene.detections.push_back({where, label, number[i], std::move(mask)});
      }
    }
  }
  return scenes;
}

// -1 where there is nothing to find.
float figure(double value) { return std::isnan(value) ? -1.0f : static_cast<float>(value); }

}  // namespace

void verify_average_precision(Comparison& c) {
  const std::vector<double> images = c.numbers("image_ids");
  const std::vector<Scene> scenes = scenes_of(c, images);
  const auto classes = static_cast<int>(c.numbers("category_ids").size());
  for (const auto& [name, shape] :
       {std::pair<std::string, CocoShape>{"bbox", CocoShape::kBox}, {"segm", CocoShape::kMask}}) {
    const auto measure = [&, shape = shape](const CocoMetrics::Limits& limits) {
      CocoMetrics metrics(classes, shape, limits);
      for (size_t i = 0; i < scenes.size(); ++i) {
        metrics.add(static_cast<int64_t>(images[i]), scenes[i].truths, scenes[i].detections);
      }
      return metrics;
    };
    const auto stats = [](const CocoMetrics& metrics) {
      std::vector<float> figures;
      for (const double value : metrics.figures().all()) figures.push_back(figure(value));
      return figures;
    };
    const CocoMetrics metrics = measure({1, 10, 100});
    c.tensor(name + "/stats", stats(metrics));
    if (c.has(name + "/stats_100_300_1000")) {
      c.tensor(name + "/stats_100_300_1000", stats(measure({100, 300, 1000})));
    }
    std::vector<float> precision, recall;
    for (int t = 0; t < kCocoThresholds; ++t) {
      std::vector<std::array<double, kCocoRecalls>> curves;
      for (int label = 0; label < classes; ++label) curves.push_back(metrics.precision(t, label));
      for (size_t r = 0; r < kCocoRecalls; ++r) {
        for (const auto& curve : curves) precision.push_back(figure(curve[r]));
      }
      for (int label = 0; label < classes; ++label) {
        for (int area = 0; area < kCocoAreas; ++area) {
          for (int limit = 0; limit < 3; ++limit) {
            recall.push_back(figure(metrics.recall(t, label, static_cast<CocoArea>(area), limit)));
          }
        }
      }
    }
    c.tensor(name + "/precision", precision);
    c.tensor(name + "/recall", recall);
  }
}

}  // namespace vig
