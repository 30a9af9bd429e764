// Reasons for refusing a request.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace vig {

class HttpError : public std::runtime_error {
 public:
  // `kind` is a word for programs and for /metrics: "too_large".
  HttpError(int status, std::string kind, const std::string& sentence)
      : std::runtime_error(sentence), status_(status), kind_(std::move(kind)) {}

  int status() const { return status_; }
  const std::string& kind() const { return kind_; }

 private:
  int status_;
  std::string kind_;
};

template <typename... Values>
[[noreturn]] void bad_request(fmt::format_string<Values...> sentence, Values&&... values) {
  throw HttpError(400, "bad_request", fmt::format(sentence, std::forward<Values>(values)...));
}

}  // namespace vig
