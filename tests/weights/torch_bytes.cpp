#include "weights/torch_bytes.h"

#include <cstring>

namespace vig::test {

using namespace std::string_literals;

std::string little_endian(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

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

std::string zip_archive(const std::vector<ZipFile>& files, bool zip64_end) {
  std::string archive, directory;
  const auto u16 = [](uint64_t value) { return little_endian(value, 2); };
  const auto u32 = [](uint64_t value) { return little_endian(value, 4); };
  const auto u64 = [](uint64_t value) { return little_endian(value, 8); };
  for (const ZipFile& file : files) {
    const uint64_t place = archive.size();
    const std::string padding = "FB"s + u16(3) + "ZZZ";  // as PyTorch pads; any length is right
    const std::string sizes = u32(file.data.size()) + u32(file.data.size());
    const std::string kind = u16(0) + u16(static_cast<uint64_t>(file.method)) + u32(0) + u32(0);
    archive += "PK\x03\x04"s + u16(0) + kind + sizes + u16(file.name.size()) + u16(padding.size());
    archive += file.name + padding + file.data;

    const std::string wide =
        file.zip64 ? u16(1) + u16(24) + u64(file.data.size()) + u64(file.data.size()) + u64(place)
                   : "";
    directory += "PK\x01\x02"s + u16(0) + u16(0) + kind;
    directory += file.zip64 ? u32(0xffffffff) + u32(0xffffffff) : sizes;
    directory += u16(file.name.size()) + u16(wide.size()) + u16(0) + u16(0) + u16(0) + u32(0);
    directory += u32(file.zip64 ? 0xffffffff : place) + file.name + wide;
  }
  const uint64_t begin = archive.size();
  archive += directory;
  if (zip64_end) {
    const uint64_t end64 = archive.size();
    archive += "PK\x06\x06"s + u64(44) + u16(0) + u16(0) + u32(0) + u32(0) + u64(files.size());
    archive += u64(files.size()) + u64(directory.size()) + u64(begin);
    archive += "PK\x06\x07"s + u32(0) + u64(end64) + u32(1);
  }
  archive += "PK\x05\x06"s + u16(0) + u16(0) + u16(files.size()) + u16(files.size());
  archive += u32(directory.size()) + u32(zip64_end ? 0xffffffff : begin) + u16(0);
  return archive;
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
