// The page at /: one file of HTML, CSS and JavaScript that needs no other address.
#pragma once

#include <string>

namespace vig {

const std::string& page_text();

}  // namespace vig
