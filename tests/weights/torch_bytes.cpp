#include "weights/torch_bytes.h"

#include <cstring>

namespace vig::test {

using namespace std::string_literals;

std::string float_bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

PickleBytes& PickleBytes::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

PickleBytes& PickleBytes::text(std::string_view text) {
  bytes_ += "X";
  bytes_ += little_endian(text.size(), 4);
  bytes_ += text;
  return *this;
}

PickleBytes& PickleBytes::integer(int64_t value) {
  bytes_ += "\x8a\x08";
  bytes_ += little_endian(static_cast<uint64_t>(value), 8);
  return *this;
}

PickleBytes& PickleBytes::global(std::string_view module, std::string_view name) {
  bytes_ += "c";
  bytes_ += module;
  bytes_ += "\n";
  bytes_ += name;
  bytes_ += "\n";
  return *this;
}

PickleBytes& PickleBytes::tuple(const std::vector<int64_t>& values) {
  raw("(");
  for (int64_t value : values) integer(value);
  return raw("t");
}

PickleBytes& PickleBytes::storage(std::string_view type, std::string_view key, int64_t numel) {
  raw("(").text("storage").global("torch", type).text(key).text("cpu").integer(numel);
  return raw("tQ");
}

PickleBytes& PickleBytes::tensor(std::string_view type, std::string_view key, int64_t numel,
                                 int64_t offset, const std::vector<int64_t>& sizes,
                                 const std::vector<int64_t>& strides) {
  global("torch._utils", "_rebuild_tensor_v2").raw("(");
  storage(type, key, numel).integer(offset).tuple(sizes).tuple(strides);
  return raw("\x89").global("collections", "OrderedDict").raw(")RtR");
}

std::string torch_zip(const std::string& pickle, const Storages& storages) {
  std::vector<ZipFile> files{{.name = "tiny/data.pkl", .data = pickle}};
  for (const auto& [key, bytes] : storages) {
    files.push_back({.name = "tiny/data/" + key, .data = bytes});
  }
  files.push_back({.name = "tiny/version", .data = "3\n"});
  return zip_archive(files);
}

std::string torch_legacy(const std::string& pickle, const Storages& storages, int width) {
  std::string bytes("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  bytes += PickleBytes().integer(1001).stop();
  bytes += PickleBytes().raw("}").text("little_endian").raw("\x88s").stop();
  bytes += pickle;
  PickleBytes keys;
  keys.raw("](");
  for (const auto& [key, unused] : storages) keys.text(key);
  bytes += keys.raw("e").stop();
  for (const auto& [unused, data] : storages) {
    bytes += little_endian(data.size() / static_cast<size_t>(width), 8) + data;
  }
  return bytes;
}

}  // namespace vig::test
