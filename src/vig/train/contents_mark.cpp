#include "vig/train/contents_mark.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/base/regular_file.h"

namespace vig::train {
namespace {

constexpr size_t kBlocks = 64, kBlockBytes = 64 << 10;

// Its size; -1: it is no regular file.
int64_t file_size(const std::string& path) {
  struct stat about = {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : -1;
}

// The file that holds a sample: itself, or an archive. Samples of one archive mostly follow each
// other, so the last archive is tried first.
class Files {
 public:
  struct File {
    std::string path;
    int64_t size = -1;
    bool known = false;  // the archive of the sample before
  };

  File of(const std::string& sample) {
    if (!archive_.path.empty() && sample.starts_with(archive_.path + '/')) {
      archive_.known = true;
      return archive_;
    }
    const int64_t size = file_size(sample);
    if (size >= 0) return {sample, size};
    for (size_t end = sample.rfind('/'); end != 0 && end != sample.npos;
         end = sample.rfind('/', end - 1)) {
      const std::string path = sample.substr(0, end);
      const int64_t archive = file_size(path);
      if (archive < 0) continue;
      archive_ = {path, archive};
      return archive_;
    }
    return {sample, -1};
  }

 private:
  File archive_;
};

uint64_t block_mark(const Files::File& file, uint64_t number) {
  if (file.size < 0) return 0;
  try {
    const RegularFile open(file.path);
    const uint64_t beyond = open.size() > kBlockBytes ? open.size() - kBlockBytes : 0;
    std::string block(std::min(open.size(), kBlockBytes), '\0');
    const auto offset = static_cast<off_t>(beyond > 0 ? mix_bits(number) % beyond : 0);
    const ssize_t count = pread(open.descriptor(), block.data(), block.size(), offset);
    block.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return hash_name(block);
  } catch (const Error&) {
    return 1;  // loading it says why
  }
}

}  // namespace

std::string contents_mark(const SampleSource& source) {
  uint64_t mark = 0;
  const auto add = [&](uint64_t value) { mark = mix_bits(mark ^ value) + 1; };
  Files files;
  for (size_t i = 0; i < source.size(); ++i) {
    const Files::File file = files.of(source.path(i));
    if (!file.known) add(static_cast<uint64_t>(file.size));
  }
  const size_t blocks = source.size() > 0 ? kBlocks : 0;
  for (size_t i = 0; i < blocks; ++i) {
    add(block_mark(files.of(source.path(i * source.size() / kBlocks)), i));
  }
  return fmt::format("{:016x}", mark);
}

}  // namespace vig::train
