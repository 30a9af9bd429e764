#include "vig/data/folder_listing.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

#include "vig/base/folder_entries.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

namespace fs = std::filesystem;

class Lister {
 public:
  explicit Lister(FolderListing& listing) : listing_(listing) {}

  // `prefix` is empty or ends in '/'. False when listing must end.
  bool list(const fs::path& folder, const std::string& prefix) {
    struct stat status;
    if (::stat(folder.c_str(), &status) != 0) {
      refuse(folder, std::error_code(errno, std::generic_category()));
      return true;
    }
    const Identity real = {status.st_dev, status.st_ino};
    // A link may lead back to a folder that is being listed.
    if (std::ranges::find(above_, real) != above_.end()) return true;
    if (++times_[real] > kMaxTimes) {
      listing_ = {};
      listing_.problems.push_back(
          fmt::format("{}: links lead to this folder by more than {} paths (a fixed limit), "
                      "expected none that lead to each other",
                      printable(folder.string(), 4096), kMaxTimes));
      return false;
    }
    if (!prefix.empty()) listing_.folders.push_back(prefix.substr(0, prefix.size() - 1));

    std::error_code error;
    std::vector<Item> items;
    for (std::string& name : folder_entries(folder.string(), error)) {
      std::error_code dangling;  // a link to nothing is a file that cannot be read
      const bool is_folder = fs::is_directory(folder / name, dangling);
      items.push_back({std::move(name), is_folder});
    }
    if (error) refuse(folder, error);
    std::sort(items.begin(), items.end());

    above_.push_back(real);
    for (const Item& item : items) {
      const std::string name = prefix + item.name;
      if (item.folder) {
        // Hidden folders hold no data but what tools leave there, often a lot.
        if (!item.name.starts_with('.') && !list(folder / item.name, name + "/")) return false;
      } else {
        listing_.files.push_back(name);
      }
    }
    above_.pop_back();
    return true;
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  // Class folders may well be links to one folder, but folders that link to each other have as many
  // paths as their names have orders.
  static constexpr int kMaxTimes = 256;

  struct Item {
    std::string name;
    bool folder;
    bool operator<(const Item& other) const { return name < other.name; }
  };

  void refuse(const fs::path& folder, const std::error_code& error) {
    listing_.problems.push_back(fmt::format("{}: the folder cannot be listed: {}",
                                            printable(folder.string(), 4096), error.message()));
  }

  FolderListing& listing_;
  std::vector<Identity> above_;    // folders being listed
  std::map<Identity, int> times_;  // that a folder was listed
};

}  // namespace

FolderListing list_folder(const fs::path& folder) {
  FolderListing listing;
  Lister(listing).list(folder, "");
  return listing;
}

}  // namespace vig
