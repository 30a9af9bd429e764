// The data of segmentation and of detection, opened for a training run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/data/coco.h"
#include "vig/data/label_pairs.h"
#include "vig/data/view.h"
#include "vig/train/options.h"
#include "vig/train/task.h"

namespace vig::train {

template <class Data>
struct DenseData {
  Data train;
  std::optional<Data> val;
  bool held_out = false;  // val was taken from the training split, not a split of its own
  DataReport report;      // of both splits
};
using SegmentationData = DenseData<LabelPairs>;
using DetectionData = DenseData<CocoDataset>;

// The training and the validation split, checked, or a share of the training images held out for
// validation. A detector learns from images with objects alone. `processes` on this machine share
// its memory. Throws what is wrong with the data as a whole.
SegmentationData open_segmentation_data(const std::string& path, const TrainOptions& options,
                                        int processes);
DetectionData open_detection_data(const std::string& path, const TrainOptions& options,
                                  int processes);

// The training split alone, not checked, or the whole where there are no splits.
template <class Data>
std::unique_ptr<Data> open_training_source(const std::string& path, const TrainOptions& options);
template <>
std::unique_ptr<LabelPairs> open_training_source<LabelPairs>(const std::string& path,
                                                             const TrainOptions& options);
template <>
std::unique_ptr<CocoDataset> open_training_source<CocoDataset>(const std::string& path,
                                                               const TrainOptions& options);

// What the loop of training has to know of it.
TaskData task_data(const SegmentationData& data);
TaskData task_data(const DetectionData& data);

// The report in sentences: the first problems, and how many there are.
std::vector<std::string> report_sentences(const DataReport& report);

// The median of short sides of some images, always the same ones; 0: none could be read.
struct ImageFacts {
  size_t images = 0;
  int short_side = 0;
};
ImageFacts image_facts(const SampleSource& source);

// The least factor by which training resizes the same images; 0: none could be read.
double smallest_scale(const SampleSource& source, const Recipe& recipe, const ViewOptions& view);

}  // namespace vig::train
