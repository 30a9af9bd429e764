#include "vig/data/shard_index.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "vig/base/error.h"
#include "vig/base/mapped_file.h"
#include "vig/base/printable.h"
#include "vig/base/utf8.h"
#include "vig/data/archive_formats.h"
#include "vig/data/index_file.h"
#include "vig/data/json_reader.h"
#include "vig/data/tar.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

constexpr std::string_view kShardMagic = "vig shard index 1\n";
constexpr size_t kMaxLabel = 256;           // bytes
constexpr size_t kMaxSampleJson = 1 << 20;  // bytes; larger ones are no labels

ShardStamp stamp_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) fail("{}: {}", path, std::strerror(errno));
  return {static_cast<uint64_t>(status.st_size),
          int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

void write_index(const std::string& path, const ShardIndex& index) {
  IndexWriter file(kShardMagic);
  file.put(index.stamp.bytes);
  file.put(index.stamp.modified);
  file.put(index.ignored);
  file.put(uint64_t{index.images.size()});
  for (const ShardImage& image : index.images) {
    file.put(image.offset);
    file.put(image.bytes);
    file.put(std::string_view(image.name));
    file.put(std::string_view(image.label));
  }
  file.write(path);
}

std::optional<ShardIndex> read_index(const std::string& path, const ShardStamp& stamp) {
  std::optional<IndexReader> file = IndexReader::open(path, kShardMagic);
  ShardIndex index;
  uint64_t count = 0;
  if (!file || !file->take(index.stamp.bytes) || !file->take(index.stamp.modified) ||
      !file->take(index.ignored) || !file->take(count) || index.stamp != stamp) {
    return std::nullopt;
  }
  constexpr size_t kLeast = 2 * sizeof(uint64_t) + 2 * sizeof(uint32_t);  // bytes of an image
  if (count > file->left() / kLeast) return std::nullopt;
  index.images.resize(count);
  for (ShardImage& image : index.images) {
    if (!file->take(image.offset) || !file->take(image.bytes) || !file->take(image.name) ||
        !file->take(image.label) || image.offset > stamp.bytes ||
        image.bytes > stamp.bytes - image.offset) {
      return std::nullopt;
    }
  }
  return file->left() == 0 ? std::optional(std::move(index)) : std::nullopt;
}

bool is_hidden_member(std::string_view name) {
  return name.starts_with('.') || name.find("/.") != std::string_view::npos ||
         name.starts_with("__MACOSX/");
}

// Up to the first dot of the last part.
std::string_view key_of_sample(std::string_view name) {
  return name.substr(0, name.find('.', name.rfind('/') + 1));  // npos + 1 is 0
}

std::string_view folder_of_image(std::string_view name) {
  const size_t end = name.rfind('/');
  if (end == std::string_view::npos) return {};
  const std::string_view folders = name.substr(0, end);
  return folders.substr(folders.rfind('/') + 1);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

// The class in KEY.json: a text or a whole number; empty where there is none.
std::string json_label(const std::string& where, std::string_view text) {
  constexpr std::string_view kFields[] = {"cls", "label"};
  std::string label;
  JsonReader reader(where, text);
  uint32_t seen = 0;
  reader.begin_object("an object that describes a sample");
  for (size_t field; (field = reader.next_field(kFields, seen)) < std::size(kFields);) {
    switch (reader.peek()) {
      case JsonReader::Kind::kString:
        label = reader.string("a class");
        break;
      case JsonReader::Kind::kNumber:
        label = fmt::format("{}", reader.whole("a class", 0, int64_t{1} << 31));
        break;
      default:
        reader.skip();
    }
  }
  return label;
}

std::string checked_label(const std::string& where, std::string_view label) {
  for (std::string_view rest = label; !rest.empty();) {
    if (!take_character(rest)) fail("{}: \"{}\" is not UTF-8", where, printable(label, 60));
  }
  if (label.size() > kMaxLabel) {
    fail("{}: a class of {} bytes, expected at most {} (a fixed limit)", where, label.size(),
         kMaxLabel);
  }
  return std::string(label);
}

ShardIndex search_tar(const std::string& path, const ShardStamp& stamp) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::span<const uint8_t> bytes = file->bytes();
  if (!looks_like_tar(bytes)) fail("{}: expected a .tar that is not compressed", path);
  ShardIndex index;
  index.stamp = stamp;
  std::map<std::string, std::string> labels;  // of samples by key
  TarReader reader(bytes, path);
  for (TarEntry entry; reader.next(entry);) {
    std::string name = clean_name(entry.name);
    if (name.empty() || entry.kind == TarEntry::Kind::kFolder) continue;
    const std::string where = fmt::format("{}/{}", path, printable(name, 4096));
    if (entry.kind != TarEntry::Kind::kFile) {
      fail("{}: a link, expected a file: shards are read in their order", where);
    }
    const std::string_view text(reinterpret_cast<const char*>(entry.data.data()),
                                entry.data.size());
    if (is_hidden_member(name)) {
      ++index.ignored;
    } else if (has_image_extension(name)) {
      index.images.push_back({static_cast<uint64_t>(entry.data.data() - bytes.data()),
                              entry.data.size(), std::move(name), ""});
    } else if (name.ends_with(".cls")) {
      labels[std::string(key_of_sample(name))] = checked_label(where, trimmed(text));
    } else if (name.ends_with(".json") && text.size() <= kMaxSampleJson) {
      const std::string label = checked_label(where, json_label(where, text));
      if (!label.empty()) labels.try_emplace(std::string(key_of_sample(name)), label);
    } else {
      ++index.ignored;
    }
  }
  for (ShardImage& image : index.images) {
    if (labels.empty()) {
      image.label = checked_label(path, folder_of_image(image.name));
    } else if (const auto found = labels.find(std::string(key_of_sample(image.name)));
               found != labels.end()) {
      image.label = found->second;
    }
  }
  return index;
}

}  // namespace

ShardIndex index_shard(const std::string& path) {
  const ShardStamp stamp = stamp_of(path);
  const std::string file = path + ".index";
  if (std::optional<ShardIndex> index = read_index(file, stamp)) return std::move(*index);
  ShardIndex index = search_tar(path, stamp);
  write_index(file, index);
  return index;
}

}  // namespace vig
