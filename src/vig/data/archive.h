// Files by name, in a folder or in an archive that is never unpacked to disk: .tar, .tar.gz (.tgz)
// and .zip, recognised by their content.
//
// Archives are not trusted: sizes are checked before memory is taken, names only name (nothing is
// ever written), and what is damaged or cut short throws one sentence naming file and location.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/memory.h"

namespace vig {

struct ArchiveOptions {
  // What a .tar.gz may unpack to in memory; the size it states itself is not believed. Besides,
  // that is at most 20 times its own size, or 256 MB where that is more.
  uint64_t max_unpacked_bytes = std::min(uint64_t{8} << 30, physical_memory() / 2);
};

struct FileSize {
  uint64_t bytes;
  uint64_t copied;  // how many bytes Archive::read puts into its scratch
};

class Archive {
 public:
  virtual ~Archive() = default;

  const std::string& path() const { return path_; }

  // Relative, parts joined by one '/', without "." parts. In the order of the archive, a folder's
  // sorted. `folders` holds at least those that are empty, since the others show in `files`, and
  // links that may stand for folders: they lead to no file of the archive.
  const std::vector<std::string>& files() const { return files_; }
  const std::vector<std::string>& folders() const { return folders_; }

  // "photos.tar/cat/1.jpg", as programs take it; a name that begins with a slash is all of it.
  std::string file_path(size_t file) const;
  // The same, fit for a message.
  std::string location(size_t file) const;

  // Known, or at least claimed, without reading the file. Throws Error.
  virtual FileSize size(size_t file) const = 0;

  // How many tar files hold the images of a data set in shards, and in which of them a file is. 0:
  // files are read as well in one order as in another.
  virtual size_t shard_count() const { return 0; }
  virtual size_t shard(size_t /*file*/) const { return 0; }

  // The first bytes of a compressed file, at most those of `out`; 0 where read() costs no more.
  // Throws Error.
  virtual size_t read_start(size_t file, std::span<uint8_t> out) const;

  // The bytes of one file, as long as both the archive and `scratch` live and are left alone. Any
  // number of threads may read, each with a scratch of its own. Throws Error.
  virtual std::span<const uint8_t> read(size_t file, std::vector<uint8_t>& scratch) const = 0;

 protected:
  explicit Archive(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::vector<std::string> files_;
  std::vector<std::string> folders_;
};

// The files of a folder that a list names, relative to it or by absolute paths. They are not
// searched for: one that is missing shows when it is read.
std::shared_ptr<const Archive> open_listed_files(const std::string& folder,
                                                 std::vector<std::string> names);

// A folder, from the listing that keep_listing has left in the file `index` where no folder has
// changed since. An index is not trusted; none is as good as one that is damaged.
std::shared_ptr<const Archive> open_folder(const std::string& path, const std::string& index = "");
// Writes the listing of such a folder, where the file can be written.
void keep_listing(const Archive& folder, const std::string& index);

// A folder is listed with all below it but folders whose names begin with a dot. Links are
// followed, but not back into a folder they lie in. Throws Error when something cannot be listed,
// and when `path` is none of the above.
std::shared_ptr<const Archive> open_archive(const std::string& path,
                                            const ArchiveOptions& options = {});

}  // namespace vig
