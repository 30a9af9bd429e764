// The tree that these tests check.
#pragma once

#include <filesystem>

#include "support/tree.h"

namespace vig::test {

inline const std::filesystem::path kRoot(kSourceDir);

}  // namespace vig::test
