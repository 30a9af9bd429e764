#include "fuzz/request.h"
#include "fuzz/targets.h"
#include "vig/serve/request_body.h"

namespace vig::fuzz {

void run_request_json(Bytes bytes) {
  with_http_errors([&] {
    const RequestBody request = read_request_body("application/json", as_text(bytes), 8);
    size_t decoded = 0;
    for (const SentImage& image : request.images) decoded += image.bytes.size();
    check(request.images.size() <= 8, "too many images");
    check(decoded <= bytes.size(), "more bytes than were sent");
  });
}

}  // namespace vig::fuzz
