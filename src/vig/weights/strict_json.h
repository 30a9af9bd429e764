// JSON from untrusted files: small, flat, and saying everything once.
#pragma once

#include <string>
#include <string_view>

#include "vig/base/json.h"

namespace vig {

struct JsonLimits {
  size_t bytes = size_t{1} << 20;
  int depth = 4;  // of arrays and objects inside each other
};

// Throws one sentence that begins with `where` on anything that is not JSON, is longer or deeper
// than the limits, or gives a key of an object twice (JSON leaves open which of the two counts).
// Members of objects come in the order of their keys.
Json parse_strict_json(const std::string& where, std::string_view text,
                       const JsonLimits& limits = {});

}  // namespace vig
