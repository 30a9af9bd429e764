#include "fuzz/targets.h"
#include "vig/weights/class_names.h"

namespace vig::fuzz {

void run_class_names(Bytes bytes) {
  for (const std::string& name : parse_class_names("x", as_text(bytes))) {
    check(name.size() <= bytes.size(), "a name longer than the file");
  }
}

}  // namespace vig::fuzz
