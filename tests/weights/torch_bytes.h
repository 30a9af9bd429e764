// PyTorch files made by hand, honest and hostile: pickles opcode by opcode, and both containers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/zip_bytes.h"

namespace vig::test {

// Appends opcodes. Each call that makes a value leaves it on the pickle's stack.
class PickleBytes {
 public:
  explicit PickleBytes(int protocol = 2) { raw("\x80").raw(std::string(1, char(protocol))); }

  PickleBytes& raw(std::string_view bytes);
  PickleBytes& text(std::string_view text);  // BINUNICODE
  PickleBytes& integer(int64_t value);       // LONG1
  PickleBytes& global(std::string_view module, std::string_view name);
  PickleBytes& tuple(const std::vector<int64_t>& values);
  // The storage itself, then the tensor over it.
  PickleBytes& storage(std::string_view type, std::string_view key, int64_t numel);
  PickleBytes& tensor(std::string_view type, std::string_view key, int64_t numel, int64_t offset,
                      const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);
  std::string stop() const { return bytes_ + "."; }

 private:
  std::string bytes_;
};

// (key, bytes) of each storage, as the pickle names them.
using Storages = std::vector<std::pair<std::string, std::string>>;

std::string torch_zip(const std::string& pickle, const Storages& storages);
// `width`: bytes of one element.
std::string torch_legacy(const std::string& pickle, const Storages& storages, int width);

std::string float_bytes(const std::vector<float>& values);

}  // namespace vig::test
