#include <algorithm>

#include "fuzz/request.h"
#include "fuzz/targets.h"
#include "vig/serve/request_body.h"

namespace vig::fuzz {

// The first line is the header's content type after "multipart/form-data", the rest the body.
void run_request_form(Bytes bytes) {
  const std::string_view text = as_text(bytes);
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string type = "multipart/form-data" + std::string(text.substr(0, end));
  const std::string_view body = text.substr(std::min(end + 1, text.size()));
  with_http_errors([&] {
    size_t used = 0;
    const RequestBody request = read_request_body(type, body, 8);
    for (const SentImage& image : request.images) {
      check(image.bytes.data() >= body.data() &&
                image.bytes.data() + image.bytes.size() <= body.data() + body.size(),
            "an image outside of the body");
      check(image.name.find('/') == std::string::npos, "a name with a folder");
      used += image.bytes.size();
    }
    check(request.images.size() <= 8, "too many images");
    check(used <= body.size(), "more bytes than were sent");
  });
}

}  // namespace vig::fuzz
