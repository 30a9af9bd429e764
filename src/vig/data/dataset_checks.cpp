#include "vig/data/dataset_checks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

struct NamedSplit {
  std::string_view name;
  const Dataset& data;
};

std::string differences(const NamedSplit& a, const NamedSplit& b) {
  std::vector<std::string_view> only_a, only_b;
  const std::set<std::string_view> of_a(a.data.classes().begin(), a.data.classes().end());
  const std::set<std::string_view> of_b(b.data.classes().begin(), b.data.classes().end());
  std::ranges::set_difference(of_a, of_b, std::back_inserter(only_a));
  std::ranges::set_difference(of_b, of_a, std::back_inserter(only_b));
  std::vector<std::string> parts;
  if (!only_a.empty()) parts.push_back(fmt::format("only in {}: {}", a.name, list_some(only_a)));
  if (!only_b.empty()) parts.push_back(fmt::format("only in {}: {}", b.name, list_some(only_b)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string list_some(const std::vector<std::string_view>& names) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown;
  for (const std::string_view name : names) {
    if (shown.size() == kShown) {
      return fmt::format("{} and {} more", fmt::join(shown, ", "), names.size() - kShown);
    }
    shown.push_back(printable(name, 60));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::shared_ptr<const std::vector<std::string>> number_classes(
    std::map<std::string_view, int32_t>& labels) {
  auto classes = std::make_shared<std::vector<std::string>>();
  for (auto& [name, label] : labels) {
    label = static_cast<int32_t>(classes->size());
    classes->emplace_back(name);
  }
  return classes;
}

void check_classes(const std::string& path, const DatasetSplits& splits, size_t min_classes,
                   std::string_view layout) {
  std::vector<NamedSplit> read;
  if (splits.whole) read.push_back({"", *splits.whole});
  if (splits.train) read.push_back({"train", *splits.train});
  if (splits.val) read.push_back({"val", *splits.val});
  if (splits.test) read.push_back({"test", *splits.test});
  if (read.empty()) return;
  for (const NamedSplit& split : read) {
    if (split.data.classes() == read.front().data.classes()) continue;
    fail("{}: its splits have different classes; {}", path, differences(read.front(), split));
  }
  const std::vector<std::string>& classes = read.front().data.classes();
  if (classes.size() < min_classes) {
    fail("{}: expected at least {} classes, found {} ({}) in {}", path, min_classes, classes.size(),
         list_some({classes.begin(), classes.end()}), layout);
  }
}

}  // namespace vig
