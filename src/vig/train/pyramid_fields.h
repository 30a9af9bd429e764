// What a dense network needs beside the backbone of a small classifier.
#pragma once

#include <map>
#include <string>

#include "vig/models/family.h"

namespace vig::train {

// The fields that complete `spec`, a dense network with the fields of `classifier`, where that has
// fewer stages than the four of a pyramid: further stages of half its last width with one block
// each, heads as narrow as its first stage, and its drop path. Empty where no stage is missing.
// Fields of `given` are the caller's and are never among them.
std::map<std::string, std::string> pyramid_fields(const ModelSpec& classifier, ModelSpec spec,
                                                  const std::map<std::string, std::string>& given);

}  // namespace vig::train
