#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "vig/base/error.h"
#include "vig/data/archive_formats.h"

namespace vig {
namespace {

// Memory that grows in place where the system can move pages, which std::vector cannot ask for.
class Growing {
 public:
  ~Growing() { std::free(data_); }

  uint8_t* data() { return data_; }
  uint64_t size() const { return size_; }

  bool resize(uint64_t size) {
    void* moved = std::realloc(data_, size);
    if (moved == nullptr) return false;
    data_ = static_cast<uint8_t*>(moved);
    size_ = size;
    return true;
  }

 private:
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

class Inflater {
 public:
  Inflater(const std::string& path, std::span<const uint8_t> packed, uint64_t limit)
      : path_(path), packed_(packed), limit_(limit), unpacked_(std::make_shared<Growing>()) {
    constexpr int kGzip = 16;  // added to the window's bits: expect that header, check that sum
    if (::inflateInit2(&stream_, MAX_WBITS + kGzip) != Z_OK) no_memory();
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  ArchiveBytes run() {
    do {
      run_member();
      ::inflateReset(&stream_);
    } while (another_member());
    if (!unpacked_->resize(std::max<uint64_t>(written_, 1))) no_memory();
    return {unpacked_, {unpacked_->data(), written_}};
  }

 private:
  // zlib counts in 32 bits, so both sides are passed in pieces.
  static uInt piece(uint64_t size) {
    return static_cast<uInt>(std::min<uint64_t>(size, std::numeric_limits<uInt>::max()));
  }

  void run_member() {
    for (;;) {
      make_room();
      stream_.next_in = const_cast<Bytef*>(packed_.data() + read_);
      stream_.avail_in = piece(packed_.size() - read_);
      stream_.next_out = unpacked_->data() + written_;
      stream_.avail_out = piece(unpacked_->size() - written_);
      const uInt in = stream_.avail_in, out = stream_.avail_out;
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      read_ += in - stream_.avail_in;
      written_ += out - stream_.avail_out;
      if (written_ > limit_) {
        fail(
            "{}: {} bytes that unpack to more than the {} bytes allowed in memory; unpack it, or "
            "make it a .tar, which is not unpacked",
            path_, packed_.size(), limit_);
      }
      if (status == Z_STREAM_END) return;
      if (status == Z_MEM_ERROR) no_memory();
      // Room there is, so Z_BUF_ERROR can only mean that there is nothing left to read.
      if (status == Z_BUF_ERROR) {
        fail("{}: broken gzip file: it is cut short at byte {}", path_, read_);
      }
      if (status != Z_OK) {
        fail("{}: broken gzip file: damaged near byte {}", path_, read_);
      }
    }
  }

  // One byte more than is allowed shows that there is more.
  void make_room() {
    if (written_ < unpacked_->size()) return;
    constexpr uint64_t kFirst = uint64_t{1} << 20;
    const uint64_t size = std::min(std::max(kFirst, unpacked_->size() * 2), limit_ + 1);
    if (!unpacked_->resize(size)) no_memory();
  }

  // Behind the last member only zeros may follow, as tapes have them.
  bool another_member() {
    const auto rest = packed_.subspan(read_);
    const auto next = std::ranges::find_if(rest, [](uint8_t byte) { return byte != 0; });
    if (next == rest.end()) return false;
    if (next != rest.begin() || *next != 0x1f) {
      fail("{}: broken gzip file: something else follows at byte {}", path_, read_);
    }
    return true;
  }

  [[noreturn]] void no_memory() const { fail("{}: not enough memory to unpack it", path_); }

  const std::string& path_;
  const std::span<const uint8_t> packed_;
  const uint64_t limit_;
  uint64_t read_ = 0, written_ = 0;
  std::shared_ptr<Growing> unpacked_;
  z_stream stream_ = {};
};

}  // namespace

ArchiveBytes unpack_gzip(const std::string& path, std::span<const uint8_t> packed, uint64_t limit) {
  constexpr uint64_t kMax = uint64_t{1} << 62;  // so that adding one to it is harmless
  return Inflater(path, packed, std::min({limit, most_unpacked(packed.size()), kMax})).run();
}

}  // namespace vig
