// Any weight file we read: safetensors or a PyTorch checkpoint, recognised by content.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/weights/safetensors.h"

namespace vig {

class MappedFile;

// One set of named tensors in the file's order. From a PyTorch file these are the tensors below
// `model`, `state_dict` or `model_ema` (the first that is there), or of the bare state dict; what
// stands beside them (optimiser, epoch, arguments) is ignored. The prefix `module.` that
// data-parallel training adds to every name is removed.
//
// Opening executes nothing of the file. Immutable afterwards; the views live as long as the object
// (moving it keeps them valid).
class Checkpoint {
 public:
  enum class Format { kSafetensors, kTorchZip, kTorchLegacy };

  // `prefer_ema` asks for the averaged weights (`model_ema`) and throws when the file has none.
  static Checkpoint open(const std::string& path, bool prefer_ema = false);
  // The same for bytes in memory; `name` replaces the path. `owner` is kept and holds the
  // bytes; without one the caller keeps them for as long as the checkpoint is used.
  static Checkpoint from_bytes(const std::string& name, std::span<const unsigned char> bytes,
                               bool prefer_ema = false,
                               std::shared_ptr<const void> owner = nullptr);

  Checkpoint(Checkpoint&&) = default;
  Checkpoint& operator=(Checkpoint&&) = default;

  // The same file with other names of its tensors, and other shapes of as many elements.
  Checkpoint renamed(const std::function<void(NamedTensor&)>& rename) const;

  const std::string& path() const { return path_; }
  size_t file_bytes() const { return file_bytes_; }
  Format format() const { return format_; }
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  const NamedTensor* find(std::string_view name) const;   // null when absent
  const Metadata& metadata() const { return metadata_; }  // empty for PyTorch files
  // Gives pages of a mapped file that were read back to the system; see MappedFile.
  void release_pages() const;

 private:
  Checkpoint() = default;
  Checkpoint(const Checkpoint&) = default;
  void sort_names();
  auto name_of() const {
    return [this](uint32_t i) -> std::string_view { return tensors_[i].name; };
  }

  std::string path_;
  size_t file_bytes_ = 0;
  Format format_ = Format::kSafetensors;
  std::vector<NamedTensor> tensors_;
  std::vector<uint32_t> by_name_;  // indices of tensors_
  Metadata metadata_;
  std::shared_ptr<const void> owner_;         // of the bytes
  std::shared_ptr<const MappedFile> mapped_;  // the same, of a file
  // Of tensors whose elements do not stand in row-major order.
  std::shared_ptr<const std::vector<Buffer>> copies_;
};

}  // namespace vig
