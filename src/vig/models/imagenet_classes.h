// The classes of ImageNet-1k, which the published models were trained for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vig {

// 1000 different names in the order of the outputs.
std::vector<std::string> imagenet_classes();

}  // namespace vig
