#include "fuzz/targets.h"
#include "vig/data/archive_formats.h"

namespace vig::fuzz {

void run_gzip(Bytes bytes) {
  constexpr uint64_t kLimit = 1 << 18;
  const ArchiveBytes unpacked = unpack_gzip("x", bytes, kLimit);
  check(unpacked.bytes.size() <= kLimit, "more than the limit was unpacked");
}

}  // namespace vig::fuzz
