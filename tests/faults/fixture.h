// The files that programs read while calls fail.
#pragma once

#include <filesystem>
#include <string>

#include "support/tree.h"

namespace vig::test {

inline std::string data(const std::string& name) {
  return (std::filesystem::path(kFixtures) / name).string();
}

}  // namespace vig::test
