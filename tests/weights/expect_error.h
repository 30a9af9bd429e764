// What hostile input must come to: an Error, or success, and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "vig/base/error.h"

namespace vig::test {

// The message of the Error that `action` raises; a failed expectation if it raises none.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    return error.what();
  }
  ADD_FAILURE() << "expected an Error";
  return "";
}

// True when it succeeds, false on an Error; any other exception escapes and fails the test.
template <typename Action>
bool survives(Action action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return false;
  }
}

}  // namespace vig::test
