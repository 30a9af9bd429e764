#include "vig/study/list.h"

namespace vig::study {

const std::vector<Study>& studies() {
  static const std::vector<Study> all = {
      throughput_study(), validation_study(), dense_study(),     segmentation_study(),
      detection_study(),  overfit_study(),    roadmap_study(),   curve_study(),
      efficiency_study(), resolution_study(), attention_study(), erf_study(),
      memory_study(),     transfer_study()};
  return all;
}

}  // namespace vig::study
