#include "vig/base/folder_entries.h"

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace vig {
namespace {

EntryKind kind_of(const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG:
      return EntryKind::kFile;
    case DT_DIR:
      return EntryKind::kFolder;
    case DT_LNK:
    case DT_UNKNOWN:
      return EntryKind::kUnknown;
    default:
      return EntryKind::kOther;
  }
}

}  // namespace

std::vector<FolderEntry> list_entries(const std::string& folder, std::error_code& error) {
  error.clear();
  struct Close {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  const std::unique_ptr<DIR, Close> open(::opendir(folder.c_str()));
  std::vector<FolderEntry> entries;
  while (open != nullptr) {
    errno = 0;
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back({std::string(name), kind_of(*entry)});
  }
  if (errno != 0) error.assign(errno, std::generic_category());
  return entries;
}

std::vector<std::string> folder_entries(const std::string& folder, std::error_code& error) {
  std::vector<std::string> names;
  for (FolderEntry& entry : list_entries(folder, error)) names.push_back(std::move(entry.name));
  return names;
}

}  // namespace vig
