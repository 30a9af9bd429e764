#include <map>
#include <unordered_map>

#include "vig/base/error.h"
#include "vig/data/archive_formats.h"
#include "vig/data/tar.h"

namespace vig {
namespace {

class TarArchive : public Archive {
 public:
  TarArchive(const std::string& path, const ArchiveBytes& content)
      : Archive(path), owner_(content.owner) {
    TarReader reader(content.bytes, path);
    for (TarEntry entry; reader.next(entry);) {
      const std::string name = clean_name(entry.name);
      if (name.empty()) continue;
      switch (entry.kind) {
        case TarEntry::Kind::kFolder:
          folders_.push_back(name);
          break;
        case TarEntry::Kind::kFile:
          links_.erase(add(name, entry.data));
          break;
        case TarEntry::Kind::kHardLink:
          links_[add(name, {})] = {clean_name(entry.target), false};
          break;
        case TarEntry::Kind::kSymbolicLink:
          links_[add(name, {})] = {follow_link(name, entry.target), true};
          break;
      }
    }
    for (const auto& [file, link] : links_) {
      data_[file] = follow(link.target);
      if (link.symbolic && data_[file].data() == nullptr) folders_.push_back(files_[file]);
    }
    files_by_name_ = {};
    links_ = {};
  }

  FileSize size(size_t file) const override { return {data_[file].size(), 0}; }

  std::span<const uint8_t> read(size_t file, std::vector<uint8_t>&) const override {
    if (data_[file].data() == nullptr) {
      fail("{}: a link to a file that the archive does not hold", place(file));
    }
    return data_[file];
  }

 private:
  struct Link {
    std::string target;
    bool symbolic;
  };

  // A later entry of the same name replaces the earlier one, as it does when unpacked.
  size_t add(const std::string& name, std::span<const uint8_t> data) {
    const auto [found, added] = files_by_name_.try_emplace(name, files_.size());
    if (added) {
      files_.push_back(name);
      data_.push_back(data);
    } else {
      data_[found->second] = data;
    }
    return found->second;
  }

  std::span<const uint8_t> follow(std::string name) const {
    constexpr int kMaxLinks = 40;  // as many as Linux follows
    for (int i = 0; i < kMaxLinks; ++i) {
      const auto file = files_by_name_.find(name);
      if (file == files_by_name_.end()) break;
      const auto link = links_.find(file->second);
      if (link == links_.end()) return data_[file->second];
      name = link->second.target;
    }
    return {};
  }

  std::shared_ptr<const void> owner_;
  std::vector<std::span<const uint8_t>> data_;  // null: a link to nothing

  // While reading.
  std::unordered_map<std::string, size_t> files_by_name_;
  std::map<size_t, Link> links_;  // by file
};

}  // namespace

std::shared_ptr<const Archive> open_tar(const std::string& path, const ArchiveBytes& content) {
  return std::make_shared<TarArchive>(path, content);
}

}  // namespace vig
