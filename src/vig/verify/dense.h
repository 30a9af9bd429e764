// What a segmentation network or detector makes of its maps, against a golden case.
#pragma once

#include "vig/verify/golden_case.h"
#include "vig/verify/verify.h"

namespace vig {

// Runs the images of the case through the whole of Segmenter or Detector and adds a check for
// each of its outputs. Throws where the case lacks one of them.
void verify_outputs(const GoldenCase& golden, const VerifyOptions& options, CaseReport& report);

}  // namespace vig
