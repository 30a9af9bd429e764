#include "vig/study/list.h"

namespace vig::study {

const std::vector<Study>& studies() {
  static const std::vector<Study> all = {throughput_study(), dense_study(),      overfit_study(),
                                         efficiency_study(), resolution_study(), roadmap_study(),
                                         erf_study(),        memory_study()};
  return all;
}

}  // namespace vig::study
