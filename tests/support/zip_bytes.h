// Zip archives made by hand, honest and hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vig::test {

std::string little_endian(uint64_t value, int width);

struct ZipFile {
  std::string name;
  std::string data;  // as it lies in the archive
  int method = 0;
  bool zip64 = false;                          // sizes and offset in the zip64 field
  uint32_t crc = 0;                            // of the data unpacked
  std::optional<uint64_t> unpacked_size = {};  // that of the data unless given
  bool link = false;                           // a symbolic link, as Unix has it
};

std::string zip_archive(const std::vector<ZipFile>& files, bool zip64_end = false);

}  // namespace vig::test
