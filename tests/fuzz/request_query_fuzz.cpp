#include "fuzz/request.h"
#include "fuzz/targets.h"
#include "vig/serve/request_body.h"

namespace vig::fuzz {

void run_request_query(Bytes bytes) {
  with_http_errors([&] {
    size_t length = 0;
    for (const auto& [name, value] : read_query(as_text(bytes))) {
      length += name.size() + value.size();
    }
    check(length <= bytes.size(), "more letters than were sent");
  });
}

}  // namespace vig::fuzz
