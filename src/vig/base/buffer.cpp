#include "vig/base/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace vig {
namespace {

// Reading megabytes of weights through 4 KB pages costs an address translation for every few
// microseconds of work, and a nested one on virtual machines.
constexpr size_t kLargePage = size_t{2} << 20;

}  // namespace

Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  const size_t alignment = bytes >= kLargePage / 4 ? kLargePage : kAlignment;
  const size_t rounded = (bytes / alignment + 1) * alignment;
  if (rounded < bytes) throw std::bad_alloc();
  data_.reset(std::aligned_alloc(alignment, rounded));
  if (data_ == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  // Best effort: a refusal changes speed, nothing else.
  if (alignment == kLargePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
#endif
}

void Buffer::Free::operator()(void* data) const { std::free(data); }

}  // namespace vig
