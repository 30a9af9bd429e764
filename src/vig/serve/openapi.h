// What the server can be asked, as an OpenAPI 3 document.
#pragma once

#include <string>

namespace vig {

const std::string& openapi_text();

}  // namespace vig
