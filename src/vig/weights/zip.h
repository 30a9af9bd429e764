// The directory of a zip archive whose entries are stored uncompressed, as PyTorch writes them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vig {

struct ZipEntry {
  std::string_view name;                // points into the archive
  std::span<const unsigned char> data;  // inside the archive
};

bool is_zip(std::span<const unsigned char> bytes);

// Raises a sentence beginning with `file` when the directory is malformed or points outside the
// archive, when an entry is compressed or encrypted, and when two have one name. Zip64 is
// understood. Checksums are not compared: PyTorch can be told not to write them.
std::vector<ZipEntry> read_zip_directory(std::span<const unsigned char> bytes,
                                         const std::string& file);

}  // namespace vig
