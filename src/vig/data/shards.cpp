#include "vig/data/shards.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "vig/base/error.h"
#include "vig/base/folder_entries.h"
#include "vig/base/printable.h"
#include "vig/data/archive_formats.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNames = 1'000'000;
constexpr size_t kOpenShards = 64;

// Where the brace that is open at `at` closes; npos: nowhere.
size_t closing_brace(std::string_view text, size_t at) {
  int depth = 0;
  for (size_t i = at; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return good && text.size() < 18 ? std::optional(value) : std::nullopt;
}

// "000..146"; empty: it is none.
std::vector<std::string> number_range(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return {};
  const std::string_view first = text.substr(0, dots), last = text.substr(dots + 2);
  const auto from = whole_number(first), to = whole_number(last);
  if (!from || !to || *from > *to) return {};
  if (*to - *from >= kMostNames) {
    fail_usage("{{{}}}: more than {} names (a fixed limit)", text, kMostNames);
  }
  const bool padded = (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
  const size_t digits = padded ? std::max(first.size(), last.size()) : 0;
  std::vector<std::string> numbers;
  for (uint64_t n = *from; n <= *to; ++n) numbers.push_back(fmt::format("{:0{}}", n, digits));
  return numbers;
}

// The parts between commas that are in no inner brace.
std::vector<std::string_view> alternatives(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}') --depth;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

bool is_shard_name(std::string_view name) {
  return name.ends_with(".tar") && !name.starts_with('.');
}

std::vector<std::string> shards_of_folder(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> shards;
  for (const FolderEntry& entry : list_entries(folder, error)) {
    if (entry.name.starts_with('.')) continue;
    std::error_code ignored;
    const std::string path = (fs::path(folder) / entry.name).string();
    const bool is_folder = entry.kind == EntryKind::kFolder ||
                           (entry.kind == EntryKind::kUnknown && fs::is_directory(path, ignored));
    if (is_folder || has_image_extension(entry.name)) return {};
    if (is_shard_name(entry.name)) shards.push_back(path);
  }
  std::ranges::sort(shards);
  return error ? std::vector<std::string>() : shards;
}

// The folder that all lie in, with its slash; empty: they have none in common.
std::string common_folder(const std::vector<std::string>& paths) {
  std::string_view common = paths.front();
  for (const std::string& path : paths) {
    const auto differ = std::ranges::mismatch(common, path).in1;
    common = common.substr(0, static_cast<size_t>(differ - common.begin()));
  }
  return std::string(common.substr(0, common.rfind('/') + 1));  // npos + 1 is 0
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view pattern) {
  const size_t open = pattern.find('{');
  const size_t close = open == std::string_view::npos ? open : closing_brace(pattern, open);
  if (close == std::string_view::npos) return {std::string(pattern)};
  const std::string start(pattern.substr(0, open));
  const std::string_view inner = pattern.substr(open + 1, close - open - 1);
  std::vector<std::string> middles = number_range(inner);
  if (middles.empty()) {
    const std::vector<std::string_view> parts = alternatives(inner);
    if (parts.size() == 1 && expand_braces(inner).size() == 1) {
      middles.push_back(fmt::format("{{{}}}", inner));  // braces of a name
    } else {
      for (const std::string_view part : parts) {
        for (std::string& one : expand_braces(part)) middles.push_back(std::move(one));
      }
    }
  }
  const std::vector<std::string> ends = expand_braces(pattern.substr(close + 1));
  if (middles.size() > kMostNames / ends.size()) {
    fail_usage("{}: more than {} names (a fixed limit)", printable(pattern, 200), kMostNames);
  }
  std::vector<std::string> names;
  for (const std::string& middle : middles) {
    for (const std::string& end : ends) names.push_back(start + middle + end);
  }
  return names;
}

std::vector<std::string> find_shards(const std::string& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::directory) return shards_of_folder(path);
  if (type != fs::file_type::not_found || path.find('{') == std::string::npos) return {};
  std::vector<std::string> shards = expand_braces(path);
  if (shards.size() == 1) return {};
  for (const std::string& shard : shards) {
    if (!fs::is_regular_file(shard, error)) {
      fail("{}: {} is not there", printable(path, 4096), printable(shard, 4096));
    }
    if (!is_shard_name(fs::path(shard).filename().native())) {
      fail("{}: names {}, expected .tar files", printable(path, 4096), printable(shard, 4096));
    }
  }
  std::ranges::sort(shards);
  const auto twice = std::ranges::adjacent_find(shards);
  if (twice != shards.end()) fail("{}: names {} twice", printable(path, 4096), *twice);
  return shards;
}

ShardArchive::ShardArchive(const std::vector<std::string>& shards)
    : Archive(common_folder(shards)) {
  std::map<std::string, uint32_t> labels;
  for (const std::string& path : shards) {
    ShardIndex index = index_shard(path);
    const auto number = static_cast<uint32_t>(shards_.size());
    shards_.push_back({path, index.stamp});
    ignored_ += index.ignored;
    const std::string start = path.substr(path_.size()) + "/";
    for (const ShardImage& image : index.images) {
      if (image.bytes > kMaxCopiedFile) {
        fail("{}/{}: a file of {} bytes, expected an image of at most {} (a fixed limit)", path,
             printable(image.name, 4096), image.bytes, kMaxCopiedFile);
      }
      const auto [label, is_new] =
          labels.try_emplace(image.label, static_cast<uint32_t>(labels_.size()));
      if (is_new) labels_.push_back(image.label);
      images_.push_back({image.offset, static_cast<uint32_t>(image.bytes), number, label->second});
      files_.push_back(start + image.name);
    }
  }
}

FileSize ShardArchive::size(size_t file) const {
  return {images_[file].bytes, images_[file].bytes};
}

std::shared_ptr<const ImageFile> ShardArchive::open(size_t shard) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(open_, shard, [](const auto& one) { return one.first; });
  if (found != open_.end()) {
    std::rotate(found, found + 1, open_.end());
    return open_.back().second;
  }
  const Shard& own = shards_[shard];
  auto file = std::make_shared<const ImageFile>(own.path, ImageFile::Kind::kRegular);
  if (file->size() != own.stamp.bytes) {
    fail("{}: has {} bytes, but had {} when its index was read", own.path, *file->size(),
         own.stamp.bytes);
  }
  if (open_.size() >= kOpenShards) open_.erase(open_.begin());
  open_.emplace_back(shard, file);
  return file;
}

std::span<const uint8_t> ShardArchive::read(size_t file, std::vector<uint8_t>& scratch) const {
  const Location& image = images_[file];
  const std::shared_ptr<const ImageFile> shard = open(image.shard);
  scratch.resize(image.bytes);
  if (shard->read_at(image.offset, scratch.data(), scratch.size()) < scratch.size()) {
    fail("{}: became shorter while it was read", location(file));
  }
  return scratch;
}

}  // namespace vig
