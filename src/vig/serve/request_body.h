// The images and options of a request, in any of the three forms that clients send:
//
//   the bytes of one image        Content-Type: image/jpeg, application/octet-stream, or none
//   multipart/form-data             parts with a file name are images, the others options
//   application/json                {"image": BASE64} or {"images": [BASE64, ...]}, and options
//
// Options may stand in the query, too. What a client sends is hostile until it is checked: nothing
// here takes more than linear time, and no more memory than a few times the body.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vig {

struct SentImage {
  std::string name;        // for messages: the file's name without folders, or "image 2"
  std::string_view bytes;  // in the body, or in `decoded` of the request
  std::string error = "";  // why there are no bytes
};

struct RequestBody {
  std::vector<SentImage> images;
  std::map<std::string, std::string> options;
  std::vector<std::string> decoded;  // holds images that came as text
};

// `body` stays where it is as long as the result is used. Throws HttpError.
RequestBody read_request_body(std::string_view content_type, std::string_view body,
                              size_t most_images);

// "a=1&b=x%20y" to options. Throws HttpError for an option given twice or a broken escape.
std::map<std::string, std::string> read_query(std::string_view query);

// Strict: the alphabet with + and /, padded, without line ends. Throws HttpError.
std::string decode_base64(std::string_view text);

}  // namespace vig
