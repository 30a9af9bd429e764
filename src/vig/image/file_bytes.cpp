#include "vig/image/file_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace vig {

FileBytes memory_bytes(std::span<const uint8_t> bytes) {
  return {[bytes](uint64_t offset, void* out, size_t size) {
            const uint64_t at = std::min<uint64_t>(offset, bytes.size());
            const size_t count = std::min<uint64_t>(size, bytes.size() - at);
            if (count > 0) std::memcpy(out, bytes.data() + at, count);
            return count;
          },
          bytes.size()};
}

FileBytes regular_file_bytes(std::shared_ptr<const ImageFile> file) {
  const uint64_t size = *file->size();
  return {[file = std::move(file)](uint64_t offset, void* out, size_t count) {
            return file->read_at(offset, out, count);
          },
          size};
}

FileBytes buffered(FileBytes bytes) {
  constexpr size_t kBlock = size_t{1} << 16;
  struct Window {
    FileBytes file;
    uint64_t start = 0;
    std::vector<uint8_t> bytes;
  };
  const uint64_t size = bytes.size;
  auto window = std::make_shared<Window>(Window{std::move(bytes), 0, {}});
  return {[window](uint64_t offset, void* out, size_t count) {
            Window& w = *window;
            const bool inside = offset >= w.start && offset - w.start <= w.bytes.size() &&
                                count <= w.bytes.size() - (offset - w.start);
            if (!inside) {
              if (count >= kBlock) return w.file.read(offset, out, count);
              w.start = offset;
              w.bytes.resize(kBlock);
              w.bytes.resize(w.file.read(offset, w.bytes.data(), kBlock));
            }
            const size_t got = std::min<uint64_t>(count, w.bytes.size() - (offset - w.start));
            if (got > 0) std::memcpy(out, w.bytes.data() + (offset - w.start), got);
            return got;
          },
          size};
}

}  // namespace vig
