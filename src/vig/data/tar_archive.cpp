#include <map>
#include <optional>
#include <set>

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
          links_[add(name, {})] = {.target = clean_name(entry.target), .symbolic = false};
          break;
        case TarEntry::Kind::kSymbolicLink:
          links_[add(name, {})] = {.target = follow_link(name, entry.target), .symbolic = true};
          break;
      }
    }
    for (auto& [file, link] : links_) {
      const auto found = files_by_name_.find(link.target);
      if (found != files_by_name_.end()) link.file = *found;
      link.target = {};
    }
    for (const auto& [file, link] : links_) {
      data_[file] = follow(link);
      if (link.symbolic && data_[file].data() == nullptr) folders_.push_back(files_[file]);
    }
    files_by_name_.clear();
    links_ = {};
  }

  FileSize size(size_t file) const override { return {data_[file].size(), 0}; }

  std::span<const uint8_t> read(size_t file, std::vector<uint8_t>&) const override {
    if (data_[file].data() == nullptr) {
      fail("{}: a link to a file that the archive does not hold", location(file));
    }
    return data_[file];
  }

 private:
  // Files by their number or their name: names may be long, so they are held once. Ordered: names
  // can be chosen so that all of them have one hash.
  struct ByName {
    using is_transparent = void;
    const std::vector<std::string>* files;

    const std::string& name(size_t file) const { return (*files)[file]; }
    const std::string& name(const std::string& name) const { return name; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return name(a) < name(b);
    }
  };

  struct Link {
    std::string target;
    bool symbolic;
    std::optional<size_t> file = {};  // the target, if the archive holds it
  };

  // A later entry of the same name replaces the earlier one, as it does when unpacked.
  size_t add(const std::string& name, std::span<const uint8_t> data) {
    if (const auto found = files_by_name_.find(name); found != files_by_name_.end()) {
      data_[*found] = data;
      return *found;
    }
    files_.push_back(name);
    data_.push_back(data);
    return *files_by_name_.insert(files_.size() - 1).first;
  }

  std::span<const uint8_t> follow(Link link) const {
    constexpr int kMaxLinks = 40;  // as many as Linux follows
    for (int i = 0; i < kMaxLinks && link.file; ++i) {
      const auto next = links_.find(*link.file);
      if (next == links_.end()) return data_[*link.file];
      link = next->second;
    }
    return {};
  }

  std::shared_ptr<const void> owner_;
  std::vector<std::span<const uint8_t>> data_;  // null: a link to nothing

  // While reading.
  std::set<size_t, ByName> files_by_name_{ByName{&files_}};
  std::map<size_t, Link> links_;  // by file
};

}  // namespace

std::shared_ptr<const Archive> open_tar(const std::string& path, const ArchiveBytes& content) {
  return std::make_shared<TarArchive>(path, content);
}

}  // namespace vig
