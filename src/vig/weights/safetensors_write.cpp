#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "vig/base/error.h"
#include "vig/base/json.h"
#include "vig/base/printable.h"
#include "vig/base/utf8.h"
#include "vig/weights/atomic_file.h"
#include "vig/weights/safetensors.h"

namespace vig {
namespace {

constexpr size_t kAlignment = 64;

// JSON for a text; names from elsewhere may not be UTF-8, which JSON cannot hold.
std::string quoted(const std::string& path, const std::string& text) {
  if (!is_utf8(text)) {
    fail("{}: cannot be written: the name \"{}\" is not UTF-8", path, printable(text));
  }
  return Json(text).dump();
}

}  // namespace

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  if (tensors.size() > SafeTensors::kMaxTensors ||
      metadata.size() > SafeTensors::kMaxMetadataKeys) {
    fail(
        "{}: cannot be written: {} tensors and {} keys of metadata, and readers accept {} and {} "
        "(fixed limits)",
        path, tensors.size(), metadata.size(), SafeTensors::kMaxTensors,
        SafeTensors::kMaxMetadataKeys);
  }
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](size_t i) { return dtype_size(tensors[i].view.dtype); });
  std::vector<size_t> begins(tensors.size());
  size_t end = 0;
  for (size_t i : order) {
    begins[i] = end;
    end += tensors[i].view.bytes();
  }

  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (header.back() != '{') header += ',';
      header += quoted(path, key) + ':' + quoted(path, value);
    }
    header += '}';
  }
  std::unordered_set<std::string_view> names{"__metadata__"};
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, view] = tensors[i];
    if (!names.insert(name).second) {
      fail("{}: cannot be written: two tensors are named \"{}\"", path, printable(name));
    }
    if (header.size() > 1) header += ',';
    header += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          quoted(path, name), dtype_name(view.dtype),
                          fmt::join(view.shape.sizes(), ","), begins[i], begins[i] + view.bytes());
  }
  header += '}';
  header.resize((header.size() + 8 + kAlignment - 1) / kAlignment * kAlignment - 8, ' ');

  if (header.size() > SafeTensors::kMaxHeader) {
    fail(
        "{}: cannot be written: its header would have {} bytes, and readers accept {} (a fixed "
        "limit)",
        path, header.size(), SafeTensors::kMaxHeader);
  }

  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(header.size() >> (8 * i));

  AtomicFile file(path);
  file.write(length, sizeof(length));
  file.write(header.data(), header.size());
  for (size_t i : order) file.write(tensors[i].view.data, tensors[i].view.bytes());
  file.commit();
}

}  // namespace vig
