// Processes that are to train one network must have begun from the same.
#pragma once

#include <map>
#include <string>

#include "vig/data/dataset.h"
#include "vig/train/group.h"

namespace vig::train {

// Raises on every process, naming the first thing that is not the same on all, or returns on all.
void check_agreement(Group& group, const std::map<std::string, std::string>& facts);

// Short texts that are different where, almost surely, the contents are: names and labels of all
// samples in their order, and the bits of a flat tensor of floats.
std::string listing_mark(const Dataset& dataset);
std::string values_mark(const at::Tensor& values);

}  // namespace vig::train
