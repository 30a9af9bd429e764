// The bytes of a file, wherever they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "vig/image/image_file.h"

namespace vig {

struct FileBytes {
  // Those from an offset on; gives how many there are.
  std::function<size_t(uint64_t offset, void* out, size_t size)> read;
  uint64_t size = 0;
};

FileBytes memory_bytes(std::span<const uint8_t> bytes);  // which outlive the result
FileBytes regular_file_bytes(std::shared_ptr<const ImageFile> file);
// For many small reads in order.
FileBytes buffered(FileBytes bytes);

}  // namespace vig
