// The entries of a tar archive in memory: ustar, GNU long names, pax paths and sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vig {

// Whether a header with a right checksum comes first, or an empty archive's end.
bool looks_like_tar(std::span<const uint8_t> bytes);

struct TarEntry {
  enum class Kind { kFile, kFolder, kHardLink, kSymbolicLink };
  Kind kind;
  std::string name;
  std::string target;             // of links
  std::span<const uint8_t> data;  // of files; inside the archive
};

// Throws a sentence with the file and the offset when a header is damaged, when it promises more
// than there is, and when the archive stops without the mark of its end.
class TarReader {
 public:
  TarReader(std::span<const uint8_t> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  // False at the end. Devices and the like are passed over.
  bool next(TarEntry& entry);

 private:
  using Bytes = std::span<const uint8_t>;

  [[noreturn]] void bad(std::string_view what) const;
  Bytes take(uint64_t size);  // and the padding behind it
  uint64_t read_number(Bytes field) const;
  std::string read_meta(uint64_t size);
  void read_pax(std::string_view records);

  Bytes bytes_;
  std::string file_;
  uint64_t offset_ = 0;

  // What headers of their own say about the next entry.
  std::optional<std::string> name_, target_;
  std::optional<uint64_t> size_;
};

}  // namespace vig
