#include "fuzz/targets.h"
#include "vig/data/label_pairs.h"

namespace vig::fuzz {

void run_pair_list(Bytes bytes) {
  for (const auto& [image, labels] : parse_pair_list("x", as_text(bytes))) {
    check(!image.empty() && !labels.empty(), "a pair without a name");
    check(image.size() + labels.size() < bytes.size(), "names longer than the list");
  }
}

}  // namespace vig::fuzz
