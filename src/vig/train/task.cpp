#include "vig/train/task.h"

#include "vig/train/tasks/classification.h"

namespace vig::train {

std::unique_ptr<Task> open_task(const TrainOptions& options, const std::string& data,
                                int processes) {
  return open_classification(options, data, processes);
}

}  // namespace vig::train
