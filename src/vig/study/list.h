// The studies, one file each.
#pragma once

#include "vig/study/study.h"

namespace vig::study {

Study attention_study();
Study curve_study();
Study dense_study();
Study detection_study();
Study efficiency_study();
Study erf_study();
Study memory_study();
Study overfit_study();
Study resolution_study();
Study roadmap_study();
Study segmentation_study();
Study throughput_study();
Study transfer_study();
Study validation_study();

}  // namespace vig::study
