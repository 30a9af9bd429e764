// What a call complains about.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "vig/base/error.h"

namespace vig::test {

// `function` raises an Error of this code whose message holds every one of the words.
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

}  // namespace vig::test
