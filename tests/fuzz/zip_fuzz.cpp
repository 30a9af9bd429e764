#include "fuzz/targets.h"
#include "vig/base/zip.h"
#include "vig/data/archive_formats.h"

namespace vig::fuzz {

void run_zip(Bytes bytes) {
  if (!is_zip(bytes)) return;
  const auto archive = open_zip("x", {nullptr, bytes});
  std::vector<uint8_t> scratch;
  constexpr uint64_t kMostUnpacked = 1 << 16;  // keeps a run cheap
  for (size_t i = 0; i < archive->files().size(); ++i) {
    if (archive->size(i).bytes <= kMostUnpacked) archive->read(i, scratch);
  }
}

}  // namespace vig::fuzz
