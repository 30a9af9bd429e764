// The one error type of the library. The library neither prints nor aborts: bad input throws an
// Error whose message is one sentence naming the location, the expected value and the value found.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace vig {

enum class ErrorCode {
  kInput,  // a file, tensor or request from outside is bad; exit status 1
  kUsage,  // the caller asked for something that does not exist; exit status 2
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorCode::kInput, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorCode::kUsage, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace vig
