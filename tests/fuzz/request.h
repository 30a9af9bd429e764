// What the targets for requests share: their errors are HttpError, which says the same as Error.
#pragma once

#include "vig/base/error.h"
#include "vig/serve/http_error.h"

namespace vig::fuzz {

template <class F>
void with_http_errors(const F& parse) {
  try {
    parse();
  } catch (const HttpError& error) {
    fail("{}", error.what());
  }
}

}  // namespace vig::fuzz
