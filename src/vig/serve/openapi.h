// The API of the server as an OpenAPI 3 document.
#pragma once

#include <string>

namespace vig {

// `max_size` is the largest input that clients may ask for.
std::string openapi_text(int max_size);

}  // namespace vig
