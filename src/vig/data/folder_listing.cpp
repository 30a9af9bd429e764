#include "vig/data/folder_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "vig/base/printable.h"

namespace vig {
namespace {

namespace fs = std::filesystem;

class Lister {
 public:
  explicit Lister(FolderListing& listing) : listing_(listing) {}

  // `prefix` is empty or ends in '/'.
  void list(const fs::path& folder, const std::string& prefix) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error) return refuse(folder, error);
    // A link may lead back to a folder that is being listed.
    if (std::ranges::find(above_, real) != above_.end()) return;
    if (!prefix.empty()) listing_.folders.push_back(prefix.substr(0, prefix.size() - 1));

    std::vector<Item> items;
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code dangling;  // a link to nothing is a file that cannot be read
      items.push_back({entry->path().filename().string(), entry->is_directory(dangling)});
    }
    if (error) refuse(folder, error);
    std::sort(items.begin(), items.end());

    above_.push_back(real);
    for (const Item& item : items) {
      const std::string name = prefix + item.name;
      if (item.folder) {
        // Hidden folders hold no data but what tools leave there, often a lot.
        if (!item.name.starts_with('.')) list(folder / item.name, name + "/");
      } else {
        listing_.files.push_back(name);
      }
    }
    above_.pop_back();
  }

 private:
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
  std::vector<fs::path> above_;  // folders being listed, without links
};

}  // namespace

FolderListing list_folder(const fs::path& folder) {
  FolderListing listing;
  Lister(listing).list(folder, "");
  return listing;
}

}  // namespace vig
