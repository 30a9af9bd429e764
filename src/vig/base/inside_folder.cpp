#include "vig/base/inside_folder.h"

#include <algorithm>
#include <system_error>

namespace vig {

bool lies_inside(const std::filesystem::path& file, const std::filesystem::path& real_folder) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  if (error || real_folder.empty()) return false;
  return std::ranges::mismatch(real_folder, real).in1 == real_folder.end();
}

}  // namespace vig
