// Images of an evaluation that cannot be read.
#pragma once

#include <cstdint>
#include <string>

#include "vig/cli/output.h"

namespace vig::cli {

// Named while they are few, then counted.
class Unreadable {
 public:
  void add(const std::string& sentence) {
    if (++count_ <= kNamed) complain(sentence);
    if (count_ == kNamed) {
      complain("further images that cannot be read are counted");
    }
  }
  // Whether so many in a row, from the first one on, leave no hope for the others.
  bool hopeless(bool any_result) const { return !any_result && count_ >= kTried; }
  int64_t count() const { return count_; }

 private:
  static constexpr int64_t kNamed = 1000;
  static constexpr int64_t kTried = 10000;

  int64_t count_ = 0;
};

}  // namespace vig::cli
