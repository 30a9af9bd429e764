// Safetensors: an 8-byte little-endian header length, a JSON header, then the tensors' bytes.
// docs/formats.md says what we put into the header's `__metadata__`.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/shape.h"

namespace vig {

// What every weight file comes down to: named tensors, and text beside them.
// `view.data` may have any alignment: files do not promise one. See elements.h for access.
struct NamedTensor {
  std::string name;
  TensorView view;
};

using Metadata = std::map<std::string, std::string>;

// A checked file: every view lies inside its bytes, no two overlap, and no byte is left over.
// Copies share what holds the bytes, which lives as long as the last of them.
class SafeTensors {
 public:
  // Files above them are corrupt or malicious; the writer has the same limits. The first is the
  // format's own.
  static constexpr size_t kMaxHeader = 100'000'000;
  static constexpr size_t kMaxTensors = 100'000;
  static constexpr size_t kMaxMetadataKeys = 10'000;
  static constexpr size_t kMaxRank = 64;

  // Throws one sentence that names the file on anything malformed. Allocates for the header only.
  static SafeTensors open(const std::string& path);
  // The same for bytes in memory; `name` begins every message. `owner` is kept and holds the bytes;
  // without one the caller keeps them for as long as any view is used.
  static SafeTensors from_bytes(const std::string& name, std::span<const unsigned char> bytes,
                                std::shared_ptr<const void> owner = nullptr);

  const std::vector<NamedTensor>& tensors() const { return tensors_; }  // in the header's order
  const NamedTensor* find(std::string_view name) const;                 // null when absent
  const Metadata& metadata() const { return metadata_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  SafeTensors() = default;

  std::shared_ptr<const void> owner_;
  std::vector<NamedTensor> tensors_;
  Metadata metadata_;
};

// Writes all or nothing: into a temporary file beside `path`, flushed to the disk, then renamed.
// The header keeps the order given; the bytes go by decreasing element size from a multiple of 64,
// so that each tensor is aligned to its own element. Throws on repeated names, above the reader's
// limits and on any failure of the file system, leaving `path` as it was.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {});

}  // namespace vig
