// Processes that are to train one network must have begun from the same.
#pragma once

#include <map>
#include <string>

#include "vig/train/processes/group.h"

namespace vig::train {

// Throws on every process, naming the first thing that is not the same on all, or returns on all.
// Of processes other than the first an empty value agrees with any.
void check_agreement(Group& group, const std::map<std::string, std::string>& facts);

// A short text that is different where, almost surely, the bits of a flat tensor of floats are.
std::string values_mark(const at::Tensor& values);

}  // namespace vig::train
