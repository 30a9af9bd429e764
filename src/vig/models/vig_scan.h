// How ViG scans both directions: the numbers are the same up to rounding.
#pragma once

#include <array>
#include <string_view>

namespace vig {

enum class VigScan {
  kMerged,  // in one sweep
  kTwoPass  // one after the other, the second over reversed copies
};
inline constexpr std::array<std::string_view, 2> kVigScanNames = {"merged", "two_pass"};

}  // namespace vig
