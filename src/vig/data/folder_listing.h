// All files below a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vig/base/folder_entries.h"

namespace vig {

// By which a folder is known again, and whether an entry came or went.
struct FolderStamp {
  std::string folder;  // relative to that which was listed
  uint64_t device = 0, inode = 0;
  int64_t modified = 0;  // nanoseconds
};

struct FolderListing {
  int64_t begun = 0;  // nanoseconds of the system's clock
  // Relative to the folder, parts joined by '/', sorted folder by folder. Links are followed, but
  // not back to a folder that they lie in; hidden folders are left out. Nothing is listed, but a
  // problem, when links lead to a folder by more than 256 paths.
  std::vector<std::string> files;
  // Of each file: kFile is a regular file and no link, kOther a pipe or a device; kUnknown is a
  // regular file behind a link, or nothing that can be found. No file is asked what it is but those
  // of which the listing of their folder does not say it.
  std::vector<EntryKind> kinds;
  std::vector<std::string> folders;
  // Folders that could not be read: one sentence each.
  std::vector<std::string> problems;
  // Of every folder that was read, from before it was.
  std::vector<FolderStamp> stamps;
};

// Whether listing again would give the same names: no folder has changed, and none had a moment
// before it was listed, when a second change would have left the same time. Files that are links,
// and those of file systems that do not say what an entry is, may have changed nevertheless.
bool still_holds(const FolderListing& listing, const std::filesystem::path& folder);

// What `index` keeps of an earlier listing, where it still holds; else nothing.
std::optional<FolderListing> read_listing(const std::filesystem::path& folder,
                                          const std::string& index);
// Keeps names and stamps of a listing without problems.
void write_listing(const FolderListing& listing, const std::filesystem::path& folder,
                   const std::string& index);

FolderListing list_folder(const std::filesystem::path& folder);

}  // namespace vig
