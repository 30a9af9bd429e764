#include "fuzz/targets.h"
#include "vig/data/archive_formats.h"
#include "vig/data/tar.h"

namespace vig::fuzz {

void run_tar(Bytes bytes) {
  if (!looks_like_tar(bytes)) return;
  const auto archive = open_tar("x", {nullptr, bytes});
  std::vector<uint8_t> scratch;
  for (size_t i = 0; i < archive->files().size(); ++i) archive->read(i, scratch);
}

}  // namespace vig::fuzz
