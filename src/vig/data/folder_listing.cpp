#include "vig/data/folder_listing.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <system_error>
#include <utility>

#include "vig/base/printable.h"
#include "vig/data/index_file.h"

namespace vig {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListingMagic = "vig folder listing 1\n";

std::string real_path(const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  return error ? folder.string() : real.string();
}

// A name that no listing gives.
bool leads_out(std::string_view name) {
  return name.empty() || name.starts_with('/') || name.starts_with("../") || name == ".." ||
         name.find("/../") != std::string_view::npos || name.ends_with("/..");
}

int64_t modified_at(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

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
    listing_.stamps.push_back({prefix, status.st_dev, status.st_ino, modified_at(status)});
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
    std::vector<FolderEntry> items = list_entries(folder.string(), error);
    if (error) refuse(folder, error);
    for (FolderEntry& item : items) {
      if (item.kind != EntryKind::kUnknown) continue;
      if (::stat((folder / item.name).c_str(), &status) != 0) continue;  // a link to nothing
      if (S_ISDIR(status.st_mode)) {
        item.kind = EntryKind::kFolder;
      } else if (!S_ISREG(status.st_mode)) {
        item.kind = EntryKind::kOther;
      }
    }
    std::ranges::sort(items, {}, &FolderEntry::name);

    above_.push_back(real);
    for (const FolderEntry& item : items) {
      std::string name = prefix + item.name;
      if (item.kind == EntryKind::kFolder) {
        // Hidden folders hold no data but what tools leave there, often a lot.
        if (!item.name.starts_with('.') && !list(folder / item.name, name + "/")) return false;
      } else {
        listing_.files.push_back(std::move(name));
        listing_.kinds.push_back(item.kind);
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

  void refuse(const fs::path& folder, const std::error_code& error) {
    listing_.problems.push_back(fmt::format("{}: the folder cannot be listed: {}",
                                            printable(folder.string(), 4096), error.message()));
  }

  FolderListing& listing_;
  std::vector<Identity> above_;    // folders being listed
  std::map<Identity, int> times_;  // that a folder was listed
};

}  // namespace

bool still_holds(const FolderListing& listing, const fs::path& folder) {
  constexpr int64_t kSettled = 2'000'000'000;  // nanoseconds: some file systems count seconds
  return std::ranges::all_of(listing.stamps, [&](const FolderStamp& stamp) {
    struct stat status = {};
    return ::stat((folder / stamp.folder).c_str(), &status) == 0 && status.st_dev == stamp.device &&
           status.st_ino == stamp.inode && modified_at(status) == stamp.modified &&
           stamp.modified < listing.begun - kSettled;
  });
}

std::optional<FolderListing> read_listing(const fs::path& folder, const std::string& index) {
  std::optional<IndexReader> file = IndexReader::open(index, kListingMagic);
  FolderListing listing;
  std::string path;
  uint64_t files = 0, folders = 0, stamps = 0;
  if (!file || !file->take(path) || path != real_path(folder) || !file->take(listing.begun) ||
      !file->take(files) || !file->take(folders) || !file->take(stamps) ||
      std::max({files, folders, stamps}) > file->left() / sizeof(uint32_t)) {
    return std::nullopt;
  }
  listing.files.resize(files);
  listing.kinds.resize(files);
  listing.folders.resize(folders);
  listing.stamps.resize(stamps);
  for (size_t i = 0; i < files; ++i) {
    uint8_t kind = 0;
    if (!file->take(listing.files[i]) || !file->take(kind)) return std::nullopt;
    if (leads_out(listing.files[i])) return std::nullopt;
    if (kind > static_cast<uint8_t>(EntryKind::kOther)) return std::nullopt;
    listing.kinds[i] = static_cast<EntryKind>(kind);
  }
  for (std::string& name : listing.folders) {
    if (!file->take(name)) return std::nullopt;
  }
  for (FolderStamp& stamp : listing.stamps) {
    if (!file->take(stamp.folder) || !file->take(stamp.device) || !file->take(stamp.inode) ||
        !file->take(stamp.modified)) {
      return std::nullopt;
    }
  }
  if (file->left() != 0 || listing.stamps.empty() || !still_holds(listing, folder)) {
    return std::nullopt;
  }
  return listing;
}

void write_listing(const FolderListing& listing, const fs::path& folder, const std::string& index) {
  IndexWriter file(kListingMagic);
  file.put(std::string_view(real_path(folder)));
  file.put(listing.begun);
  file.put(uint64_t{listing.files.size()});
  file.put(uint64_t{listing.folders.size()});
  file.put(uint64_t{listing.stamps.size()});
  for (size_t i = 0; i < listing.files.size(); ++i) {
    file.put(std::string_view(listing.files[i]));
    file.put(static_cast<uint8_t>(listing.kinds[i]));
  }
  for (const std::string& name : listing.folders) file.put(std::string_view(name));
  for (const FolderStamp& stamp : listing.stamps) {
    file.put(std::string_view(stamp.folder));
    file.put(stamp.device);
    file.put(stamp.inode);
    file.put(stamp.modified);
  }
  file.write(index);
}

FolderListing list_folder(const fs::path& folder) {
  FolderListing listing;
  listing.begun = std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
  Lister(listing).list(folder, "");
  return listing;
}

}  // namespace vig
