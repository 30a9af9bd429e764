#pragma once

namespace vig::test {

// Whether the programs have sanitisers. Tests that run them need not have any: see
// tests/CMakeLists.txt.
extern const bool kSanitised;

}  // namespace vig::test
