// One reader per kind of archive, behind archive.h. All throw Error naming the file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "vig/base/mapped_file.h"
#include "vig/data/archive.h"

namespace vig {

// Larger files are not copied to memory: no image that can be decoded is that long.
constexpr uint64_t kMaxCopiedFile = uint64_t{1} << 30;

// What the files of an archive of `packed` bytes may unpack to, together. Images are compressed
// already.
constexpr uint64_t most_unpacked(uint64_t packed) {
  constexpr uint64_t kRatio = 20, kAlways = uint64_t{256} << 20;
  return std::max(kAlways, std::min(packed, ~uint64_t{0} / kRatio) * kRatio);
}

// Bytes and what keeps them alive.
struct ArchiveBytes {
  std::shared_ptr<const void> owner;
  std::span<const uint8_t> bytes;
};

std::shared_ptr<const Archive> open_tar(const std::string& path, const ArchiveBytes& content);
std::shared_ptr<const Archive> open_zip(const std::string& path, const ArchiveBytes& content);

// Unpacks a .gz file of one or several members.
ArchiveBytes unpack_gzip(const std::string& path, std::span<const uint8_t> packed, uint64_t limit);

// A name as Archive::files has it; empty for one that says nothing.
std::string clean_name(std::string_view name);

// Where the symbolic link `name` leads. Purely by name; what leads out of the archive names nothing
// in it.
std::string follow_link(const std::string& name, std::string_view target);

// What others keep labels in, by how its name ends: "labels in CSV files"; empty for other files.
std::string_view label_format(std::string_view name);

}  // namespace vig
