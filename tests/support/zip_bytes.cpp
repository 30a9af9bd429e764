#include "support/zip_bytes.h"

namespace vig::test {

using namespace std::string_literals;

std::string little_endian(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string zip_archive(const std::vector<ZipFile>& files, bool zip64_end) {
  std::string archive, directory;
  const auto u16 = [](uint64_t value) { return little_endian(value, 2); };
  const auto u32 = [](uint64_t value) { return little_endian(value, 4); };
  const auto u64 = [](uint64_t value) { return little_endian(value, 8); };
  for (const ZipFile& file : files) {
    const uint64_t offset = archive.size();
    const std::string padding = "FB"s + u16(3) + "ZZZ";  // as PyTorch pads; any length is right
    const uint64_t packed = file.data.size(), unpacked = file.unpacked_size.value_or(packed);
    const std::string sizes = u32(packed) + u32(unpacked);
    const std::string kind =
        u16(0) + u16(static_cast<uint64_t>(file.method)) + u32(0) + u32(file.crc);
    archive += "PK\x03\x04"s + u16(0) + kind + sizes + u16(file.name.size()) + u16(padding.size());
    archive += file.name + padding + file.data;

    const std::string wide =
        file.zip64 ? u16(1) + u16(24) + u64(unpacked) + u64(packed) + u64(offset) : "";
    directory += "PK\x01\x02"s + u16(file.link ? 3 << 8 : 0) + u16(0) + kind;
    directory += file.zip64 ? u32(0xffffffff) + u32(0xffffffff) : sizes;
    directory += u16(file.name.size()) + u16(wide.size()) + u16(0) + u16(0) + u16(0);
    directory += u32(file.link ? 0120777u << 16 : 0);
    directory += u32(file.zip64 ? 0xffffffff : offset) + file.name + wide;
  }
  const uint64_t begin = archive.size();
  archive += directory;
  if (zip64_end) {
    const uint64_t end64 = archive.size();
    archive += "PK\x06\x06"s + u64(44) + u16(0) + u16(0) + u32(0) + u32(0) + u64(files.size());
    archive += u64(files.size()) + u64(directory.size()) + u64(begin);
    archive += "PK\x06\x07"s + u32(0) + u64(end64) + u32(1);
  }
  archive += "PK\x05\x06"s + u16(0) + u16(0) + u16(files.size()) + u16(files.size());
  archive += u32(directory.size()) + u32(zip64_end ? 0xffffffff : begin) + u16(0);
  return archive;
}

}  // namespace vig::test
