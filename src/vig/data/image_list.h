// Names of images as a text file, one a line, so that a part of a dataset can be found again.
#pragma once

#include <string>
#include <string_view>

#include "vig/data/dataset.h"

namespace vig {

// Dataset::name of every sample in its order. A backslash is doubled and a line break written as
// \n, so that a line of any bytes is one name.
std::string image_list_text(const Dataset& dataset);

// The samples of `dataset` that such a text names, in its order. `file` stands for the text in
// messages. Throws Error naming the first image that `dataset` does not have, and when the text
// names none or one twice.
Dataset select_images(const Dataset& dataset, std::string_view text, const std::string& file);

}  // namespace vig
