// How every program writes JSON.
#pragma once

#include <string>

#include "vig/base/json.h"

namespace vig {

// Text that is not UTF-8 (file names) is made so, and what steers a terminal is escaped.
std::string json_text(const Json& value, int indent = -1);
// A float as the shortest number that reads back as it.
double short_number(float value);

}  // namespace vig
