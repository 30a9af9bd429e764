// Four lines: the values of the four keys that describe a model.
#include "fuzz/targets.h"
#include "vig/weights/model_info.h"

namespace vig::fuzz {

void run_metadata(Bytes bytes) {
  std::string_view rest = as_text(bytes);
  Metadata metadata;
  for (const char* key : {"vig.arch", "vig.overrides", "vig.classes", "vig.recipe"}) {
    const size_t end = rest.find('\n');
    const std::string_view value = rest.substr(0, end);
    if (!value.empty()) metadata.emplace(key, value);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  const auto info = read_model_info(metadata, "x");
  if (!info) return;
  check(read_model_info(encode_model_info(*info), "x") == info, "written and read, it differs");
}

}  // namespace vig::fuzz
