// What a call complains about. Hostile input must come to an Error, or success, and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "vig/base/error.h"

namespace vig::test {

// `function` throws an Error of this code whose message holds every one of the words.
template <typename Function>
void expect_error(ErrorCode code, std::initializer_list<std::string> words, Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << word << "' is not in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no error";
}

// The message of the Error that `action` throws; a failed expectation if it throws none.
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
