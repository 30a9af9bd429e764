#include "vig/weights/class_names.h"

#include <algorithm>

#include "vig/base/regular_file.h"
#include "vig/weights/model_info.h"

namespace vig {

std::vector<std::string> parse_class_names(const std::string& where, std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  constexpr std::string_view kSpace = " \t\r";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = line.find_first_not_of(kSpace);
    const size_t last = line.find_last_not_of(kSpace);
    names.emplace_back(first == line.npos ? "" : line.substr(first, last - first + 1));
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  check_class_names(where, names);
  return names;
}

std::vector<std::string> read_class_names(const std::string& file) {
  constexpr size_t kMaxBytes = size_t{4} << 20;
  return parse_class_names(file, read_regular_file(file, kMaxBytes));
}

}  // namespace vig
