#include "vig/weights/checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "vig/base/error.h"
#include "vig/base/mapped_file.h"
#include "vig/base/zip.h"
#include "vig/weights/safetensors.h"
#include "vig/weights/torch_file.h"

namespace vig {
namespace {

constexpr std::string_view kParallelPrefix = "module.";

// How often a name begins with the prefix; averaging a parallel model prefixes twice.
size_t parallel_depth(std::string_view name) {
  size_t depth = 0;
  while (name.starts_with(kParallelPrefix) && name.size() > kParallelPrefix.size()) {
    name.remove_prefix(kParallelPrefix.size());
    ++depth;
  }
  return depth;
}

void strip_parallel_prefix(std::vector<NamedTensor>& tensors) {
  size_t depth = tensors.empty() ? 0 : SIZE_MAX;
  for (const NamedTensor& tensor : tensors) depth = std::min(depth, parallel_depth(tensor.name));
  for (NamedTensor& tensor : tensors) tensor.name.erase(0, depth * kParallelPrefix.size());
}

bool looks_like_safetensors(const std::string& name, std::span<const unsigned char> bytes) {
  return (bytes.size() > 8 && bytes[8] == '{') || name.ends_with(".safetensors");
}

std::string_view describe(std::span<const unsigned char> bytes) {
  if (bytes.empty()) return "an empty file";
  if (bytes[0] == 0x80) return "a bare pickle";
  if (bytes[0] == '<') return "a web page";
  constexpr std::string_view kLfs = "version https://git-lfs";
  if (bytes.size() >= kLfs.size() && std::equal(kLfs.begin(), kLfs.end(), bytes.begin())) {
    return "a Git LFS pointer instead of the file itself";
  }
  return "something else";
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& path, bool prefer_ema) {
  const auto file = MappedFile::open(path);
  Checkpoint result = from_bytes(path, file->bytes(), prefer_ema, file);
  result.mapped_ = file;
  return result;
}

Checkpoint Checkpoint::from_bytes(const std::string& name, std::span<const unsigned char> bytes,
                                  bool prefer_ema, std::shared_ptr<const void> owner) {
  Checkpoint result;
  result.path_ = name;
  result.file_bytes_ = bytes.size();
  result.owner_ = std::move(owner);

  const bool zip = is_zip(bytes);
  if (zip || is_torch_legacy(bytes)) {
    result.format_ = zip ? Format::kTorchZip : Format::kTorchLegacy;
    const TorchContainer container =
        zip ? open_torch_zip(bytes, name) : open_torch_legacy(bytes, name);
    TorchStateDict dict = read_state_dict(container, name, bytes.size(), prefer_ema);
    result.tensors_ = std::move(dict.tensors);
    result.copies_ = std::make_shared<const std::vector<Buffer>>(std::move(dict.copies));
  } else if (looks_like_safetensors(name, bytes)) {
    const SafeTensors file = SafeTensors::from_bytes(name, bytes);
    if (prefer_ema) {
      fail(
          "{}: expected averaged weights beside the others, found a safetensors file, which holds "
          "one set",
          name);
    }
    result.tensors_ = file.tensors();
    result.metadata_ = file.metadata();
  } else {
    fail("{}: expected a safetensors file or a PyTorch checkpoint, found {}", name,
         describe(bytes));
  }
  strip_parallel_prefix(result.tensors_);
  result.sort_names();
  return result;
}

void Checkpoint::sort_names() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::ranges::sort(by_name_, {}, name_of());
}

Checkpoint Checkpoint::renamed(const std::function<void(NamedTensor&)>& rename) const {
  Checkpoint result = *this;
  for (NamedTensor& tensor : result.tensors_) rename(tensor);
  result.sort_names();
  return result;
}

void Checkpoint::release_pages() const {
  if (mapped_ != nullptr) mapped_->release_pages();
}

const NamedTensor* Checkpoint::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_of());
  return found == by_name_.end() || name_of()(*found) != name ? nullptr : &tensors_[*found];
}

}  // namespace vig
