// The studies, one file each.
#pragma once

#include "vig/study/study.h"

namespace vig::study {

Study dense_study();
Study efficiency_study();
Study erf_study();
Study memory_study();
Study overfit_study();
Study resolution_study();
Study roadmap_study();
Study throughput_study();

}  // namespace vig::study
