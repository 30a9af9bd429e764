#include "vig/weights/torch_container.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/zip.h"

namespace vig {
namespace {

using Bytes = std::span<const unsigned char>;
using Kind = Pickle::Kind;
using Value = Pickle::Value;

// A storage for each tensor, optimiser state beside them, and a few more.
constexpr size_t kMaxZipEntries = 500'000;

bool is_count(const Value& value) { return value.kind == Kind::kInt && value.integer >= 0; }

int64_t read_int64(Bytes bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | bytes[at + i];
  return static_cast<int64_t>(value);
}

}  // namespace

bool is_torch_legacy(Bytes bytes) {
  // The first pickle is the magic number 0x1950a86a20f9469cfc6c: PROTO n, LONG1 of ten bytes, STOP.
  constexpr unsigned char kMagic[] = {0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                      0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};
  return bytes.size() >= 2 + sizeof(kMagic) && bytes[0] == 0x80 &&
         std::equal(std::begin(kMagic), std::end(kMagic), bytes.begin() + 2);
}

TorchContainer open_torch_zip(Bytes bytes, const std::string& file) {
  // Everything lies in one folder, named after the file that was saved: NAME/data.pkl.
  const auto entries = read_zip_directory(bytes, file, kMaxZipEntries);
  std::string_view folder;
  Bytes pickle;
  for (const ZipEntry& entry : entries) {
    if (entry.method != ZipEntry::kStored) {
      fail(
          "{}: its zip entry \"{}\" is compressed (method {}), expected it stored as torch.save "
          "does",
          file, printable(entry.name), entry.method);
    }
    const size_t slash = entry.name.find('/');
    if (slash == std::string_view::npos || entry.name.substr(slash + 1) != "data.pkl") continue;
    folder = entry.name.substr(0, slash + 1);
    pickle = entry.data;
  }
  if (folder.empty()) {
    fail("{}: expected a PyTorch checkpoint, found a zip archive without data.pkl", file);
  }

  TorchContainer container{Pickle::parse(pickle, file), {}};
  for (const ZipEntry& entry : entries) {
    if (!entry.name.starts_with(folder)) continue;
    std::string_view name = entry.name.substr(folder.size());
    if (name == "byteorder") {
      const std::string_view order(reinterpret_cast<const char*>(entry.data.data()),
                                   entry.data.size());
      if (order != "little") {
        fail("{}: expected byte order \"little\", found \"{}\"", file, printable(order));
      }
    } else if (name.starts_with("data/")) {
      container.storages.emplace(name.substr(5), entry.data);
    }
  }
  return container;
}

TorchContainer open_torch_legacy(Bytes bytes, const std::string& file) {
  // Pickles one after another: magic number, version, facts of the system, the object, the keys
  // of its storages. Then each storage in the order of the keys: element count, elements.
  size_t at = 0;
  const auto next = [&] {
    Pickle pickle = Pickle::parse(bytes.subspan(at), file);
    at += pickle.bytes_read();
    return pickle;
  };
  next();
  const Pickle version = next();
  if (version.root().kind != Kind::kInt || version.root().integer != 1001) {
    fail("{}: expected version 1001 of the old PyTorch format, found another", file);
  }
  const Pickle system = next();
  const Value* little = system.find(system.root(), "little_endian");
  if (little != nullptr && little->kind == Kind::kBool && little->integer == 0) {
    fail("{}: expected little-endian numbers, found big-endian", file);
  }
  TorchContainer container{next(), {}};
  const Pickle keys = next();
  if (keys.root().kind != Kind::kList) fail("{}: expected a list of storages, found none", file);

  std::map<std::string_view, StorageRef> refs;
  for (const Value& value : container.pickle.values()) {
    if (value.kind != Kind::kPersistent) continue;
    const StorageRef ref = storage_ref(container.pickle, value, file);
    const auto [known, fresh] = refs.emplace(ref.key, ref);
    if (!fresh && (known->second.dtype != ref.dtype || known->second.numel != ref.numel)) {
      fail("{}: storage \"{}\" is described twice, differently", file, printable(ref.key));
    }
  }
  for (Pickle::Id id : keys.root().items) {
    const auto ref = refs.find(keys[id].text);
    if (keys[id].kind != Kind::kText || ref == refs.end()) {
      fail("{}: storage \"{}\" belongs to no tensor", file, printable(keys[id].text));
    }
    if (bytes.size() - at < 8) fail("{}: ends before its storages do", file);
    const int64_t numel = read_int64(bytes, at);
    at += 8;
    if (numel != ref->second.numel) {
      fail("{}: storage \"{}\" has {} elements, expected {}", file, printable(ref->first), numel,
           ref->second.numel);
    }
    const size_t width = dtype_size(ref->second.dtype);
    if (static_cast<uint64_t>(numel) > (bytes.size() - at) / width) {
      fail("{}: storage \"{}\" needs {} elements, but the file ends after {}", file,
           printable(ref->first), numel, (bytes.size() - at) / width);
    }
    const size_t size = static_cast<size_t>(numel) * width;
    container.storages.emplace(ref->first, bytes.subspan(at, size));
    at += size;
  }
  return container;
}

StorageRef storage_ref(const Pickle& pickle, const Value& value, const std::string& file) {
  // ("storage", type, key, device, element count[, view]); a view is (key, first, count) or None.
  if (value.kind == Kind::kPersistent && pickle[value.items[0]].kind == Kind::kTuple) {
    const auto& items = pickle[value.items[0]].items;
    const auto item = [&](size_t i) -> const Value& { return pickle[items[i]]; };
    const bool whole = items.size() == 5 || (items.size() == 6 && item(5).kind == Kind::kNone);
    const bool part = items.size() == 6 && item(5).kind == Kind::kTuple;
    if ((whole || part) && item(0).kind == Kind::kText && item(0).text == "storage" &&
        item(1).kind == Kind::kGlobal && item(1).global->role == GlobalRole::kStorage &&
        item(2).kind == Kind::kText && is_count(item(4))) {
      StorageRef ref{item(2).text, item(1).global->dtype, item(4).integer, 0, item(4).integer};
      if (whole) return ref;
      const auto& view = item(5).items;
      if (view.size() == 3 && is_count(pickle[view[1]]) && is_count(pickle[view[2]])) {
        ref.first = pickle[view[1]].integer;
        ref.used = pickle[view[2]].integer;
        if (ref.first <= ref.numel && ref.used <= ref.numel - ref.first) return ref;
      }
    }
  }
  fail("{}: its pickle describes a storage in an unknown form", file);
}

}  // namespace vig
