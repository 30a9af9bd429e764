// What the paper's presets have for one model and not for another.
#pragma once

#include <map>
#include <string>

#include "vig/train/options.h"

namespace vig::train {

// Sets the rates of the preset "imagenet", "ade20k" or "coco" that belong to options.model (a name
// of the zoo, a classifier's or a dense network's; for a file options.arch), except those in
// `given`. Other presets and models stay as they are. Returns what was changed as the options that
// would set it, such as " --lr 0.0005 --weight-decay 0.1"; empty where nothing was.
std::string fit_to_model(TrainOptions& options, const std::map<std::string, std::string>& given);

}  // namespace vig::train
