#include "vig/train/task.h"

#include "vig/base/error.h"
#include "vig/data/data_report.h"
#include "vig/train/tasks/classification.h"
#include "vig/train/tasks/detection.h"
#include "vig/train/tasks/segmentation.h"

namespace vig::train {

ModelTask task_of(const TrainOptions& options, const std::string& data) {
  if (options.task == "classify") return ModelTask::kClassify;
  if (options.task == "segment") return ModelTask::kSegment;
  if (options.task == "detect") return ModelTask::kDetect;
  switch (recognise_data(data)) {
    case DataKind::kClasses:
      return ModelTask::kClassify;
    case DataKind::kLabelPairs:
      return ModelTask::kSegment;
    case DataKind::kCoco:
      return ModelTask::kDetect;
  }
  return ModelTask::kClassify;
}

std::unique_ptr<Task> open_task(const TrainOptions& options, const std::string& data,
                                int processes) {
  const ModelTask task = task_of(options, data);
  if (options.sampling != "natural" && task != ModelTask::kClassify) {
    fail_usage("--sampling {} is for classification", options.sampling);
  }
  if (options.class_weights != "none" && task == ModelTask::kDetect) {
    fail_usage("--class-weights is for classification and segmentation");
  }
  switch (task) {
    case ModelTask::kClassify:
      return open_classification(options, data, processes);
    case ModelTask::kSegment:
      return open_segmentation(options, data, processes);
    case ModelTask::kDetect:
      return open_detection(options, data, processes);
  }
  return nullptr;
}

}  // namespace vig::train
