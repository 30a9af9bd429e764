// The directory of a zip archive. What is compressed stays so: see data/ for reading that.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vig {

struct ZipEntry {
  static constexpr uint16_t kStored = 0, kDeflated = 8;

  std::string_view name;                // points into the archive; of a folder, it ends in '/'
  std::span<const unsigned char> data;  // inside the archive, as it is there
  uint64_t size;                        // claimed for the data unpacked; that of `data` if stored
  uint16_t method;                      // others than the two above exist
  uint32_t crc;                         // claimed for the data unpacked
  bool link;                            // a symbolic link of Unix, the data being where it leads
};

bool is_zip(std::span<const unsigned char> bytes);

// Throws a sentence beginning with `file` when the directory is malformed or points outside the
// archive, when an entry is encrypted, when entries overlap, when two have one name, and when there
// are more than `most`. Zip64 is understood. Checksums are not compared: PyTorch has an option not
// to write them.
std::vector<ZipEntry> read_zip_directory(std::span<const unsigned char> bytes,
                                         const std::string& file, size_t most = SIZE_MAX);

}  // namespace vig
