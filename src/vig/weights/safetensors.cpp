#include "vig/weights/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "vig/base/error.h"
#include "vig/base/mapped_file.h"
#include "vig/base/printable.h"
#include "vig/weights/elements.h"

namespace vig {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";

struct Entry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<int64_t>> offsets;
};

// The header's grammar has three levels and nothing else, so it is read as a stream: no tree is
// built, and a fourth level is an error the moment it opens, however deeply the file nests.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  std::vector<Entry> entries;
  Metadata metadata;

  bool start_object(std::size_t) override {
    if (level_ == Level::kOutside) {
      level_ = Level::kRoot;
    } else if (level_ == Level::kRoot) {
      level_ = key_ == kMetadataKey ? Level::kMetadata : Level::kTensor;
      if (level_ == Level::kTensor) add_entry();
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() override {
    if (level_ == Level::kTensor) {
      const Entry& entry = entries.back();
      if (!entry.dtype || !entry.shape || !entry.offsets) {
        fail("{}: tensor \"{}\" lacks one of dtype, shape, data_offsets", file_,
             printable(entry.name));
      }
    }
    level_ = level_ == Level::kRoot ? Level::kOutside : Level::kRoot;
    return true;
  }

  bool key(string_t& name) override {
    if (level_ == Level::kRoot) {
      if (!names_.insert(name).second) {
        fail("{}: header names \"{}\" twice", file_, printable(name));
      }
    } else if (level_ == Level::kMetadata) {
      if (metadata.contains(name)) {
        fail("{}: metadata names \"{}\" twice", file_, printable(name));
      }
      if (metadata.size() == SafeTensors::kMaxMetadataKeys) {
        fail("{}: expected at most {} keys of metadata (a fixed limit), found more", file_,
             SafeTensors::kMaxMetadataKeys);
      }
    } else if (name != "dtype" && name != "shape" && name != "data_offsets") {
      fail("{}: tensor \"{}\" has an unknown property \"{}\"", file_,
           printable(entries.back().name), printable(name));
    }
    key_ = std::move(name);
    return true;
  }

  bool string(string_t& text) override {
    if (level_ == Level::kMetadata) {
      metadata[key_] = std::move(text);
    } else if (level_ == Level::kTensor && key_ == "dtype") {
      Entry& entry = entries.back();
      if (entry.dtype) repeated();
      entry.dtype = dtype_from_name(text);
      if (!entry.dtype) {
        fail("{}: tensor \"{}\" has dtype \"{}\", which is not one we read", file_,
             printable(entry.name), printable(text));
      }
    } else {
      refuse("a text");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (level_ != Level::kTensor || key_ == "dtype") refuse("an array");
    Entry& entry = entries.back();
    auto& list = key_ == "shape" ? entry.shape : entry.offsets;
    if (list) repeated();
    list.emplace();
    integers_ = &*list;
    level_ = Level::kIntegers;
    return true;
  }

  bool end_array() override {
    level_ = Level::kTensor;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ != Level::kIntegers) refuse("a number");
    if (value > static_cast<uint64_t>(INT64_MAX)) refuse("a number beyond 63 bits");
    if (integers_->size() == SafeTensors::kMaxRank)
      refuse("more than 64 dimensions (a fixed limit)");
    integers_->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool number_integer(number_integer_t) override { refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { refuse("a fraction"); }
  bool boolean(bool) override { refuse("true or false"); }
  bool null() override { refuse("null"); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail("{}: header is not JSON at its byte {}", file_, position);
  }

 private:
  enum class Level { kOutside, kRoot, kMetadata, kTensor, kIntegers };

  void add_entry() {
    if (entries.size() == SafeTensors::kMaxTensors) {
      fail("{}: expected at most {} tensors (a fixed limit), found more", file_,
           SafeTensors::kMaxTensors);
    }
    entries.push_back({key_, {}, {}, {}});
  }

  [[noreturn]] void refuse(std::string_view found) const {
    switch (level_) {
      case Level::kOutside:
        fail("{}: expected the header to be a JSON object, found {}", file_, found);
      case Level::kRoot:
        fail("{}: expected \"{}\" to be an object, found {}", file_, printable(key_), found);
      case Level::kMetadata:
        fail("{}: expected metadata \"{}\" to be a text, found {}", file_, printable(key_), found);
      case Level::kTensor:
      case Level::kIntegers:
        break;
    }
    fail("{}: tensor \"{}\" has {} in its {}", file_, printable(entries.back().name), found, key_);
  }

  [[noreturn]] void repeated() const {
    fail("{}: tensor \"{}\" gives its {} twice", file_, printable(entries.back().name), key_);
  }

  const std::string& file_;
  Level level_ = Level::kOutside;
  std::string key_;
  std::vector<int64_t>* integers_ = nullptr;
  // Ordered: names in a file can be chosen so that all of them have one hash.
  std::set<std::string> names_;
};

// Checks one entry by itself and makes its view.
NamedTensor make_tensor(const std::string& file, Entry&& entry,
                        std::span<const unsigned char> data) {
  if (entry.offsets->size() != 2) {
    fail("{}: tensor \"{}\" has {} data_offsets, expected 2", file, printable(entry.name),
         entry.offsets->size());
  }
  const int64_t begin = (*entry.offsets)[0];
  const int64_t end = (*entry.offsets)[1];
  if (begin > end || static_cast<uint64_t>(end) > data.size()) {
    fail("{}: tensor \"{}\" claims bytes {} to {} of {}", file, printable(entry.name), begin, end,
         data.size());
  }
  Shape shape(std::move(*entry.shape));
  int64_t bytes = static_cast<int64_t>(dtype_size(*entry.dtype));
  bool overflow = false;
  for (int64_t size : shape.sizes()) overflow |= __builtin_mul_overflow(bytes, size, &bytes);
  if (overflow) {
    fail("{}: tensor \"{}\" of shape {} is larger than any memory", file, printable(entry.name),
         shape.str());
  }
  if (bytes != end - begin) {
    fail("{}: tensor \"{}\" of shape {} {} needs {} bytes, found {}", file, printable(entry.name),
         shape.str(), dtype_name(*entry.dtype), bytes, end - begin);
  }
  return {std::move(entry.name), {data.data() + begin, *entry.dtype, std::move(shape)}};
}

// Sorted by offset, each tensor must begin where the one before it ends: neither overlap nor hole.
void check_coverage(const std::string& file, const std::vector<NamedTensor>& tensors,
                    std::span<const unsigned char> data) {
  struct Range {
    size_t begin, end, index;
  };
  std::vector<Range> ranges;
  ranges.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto* start = static_cast<const unsigned char*>(tensors[i].view.data);
    const size_t begin = static_cast<size_t>(start - data.data());
    ranges.push_back({begin, begin + tensors[i].view.bytes(), i});
  }
  std::ranges::sort(ranges, [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  size_t covered = 0;
  for (const Range& range : ranges) {
    if (range.begin != covered) {
      fail("{}: tensor \"{}\" begins at byte {} of the data, expected {}{}", file,
           printable(tensors[range.index].name), range.begin, covered,
           range.begin < covered ? " (tensors overlap)" : "");
    }
    covered = range.end;
  }
  if (covered != data.size()) {
    fail("{}: expected {} bytes of data, found {}", file, covered, data.size());
  }
}

}  // namespace

SafeTensors SafeTensors::open(const std::string& path) {
  const auto file = MappedFile::open(path);
  return from_bytes(path, file->bytes(), file);
}

SafeTensors SafeTensors::from_bytes(const std::string& path, std::span<const unsigned char> bytes,
                                    std::shared_ptr<const void> owner) {
  if (bytes.size() < 8) {
    fail("{}: expected a safetensors file, found only {} bytes", path, bytes.size());
  }
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | bytes[static_cast<size_t>(i)];
  if (length > SafeTensors::kMaxHeader) {
    fail("{}: expected a safetensors header of at most {} bytes (a fixed limit), found one of {}",
         path, SafeTensors::kMaxHeader, length);
  }
  if (length > bytes.size() - 8) {
    fail("{}: expected a safetensors header of {} bytes, found a file of {}", path, length,
         bytes.size());
  }
  const auto header = bytes.subspan(8, length);
  const auto data = bytes.subspan(8 + length);
  if (header.empty() || header[0] != '{') {
    fail("{}: expected a safetensors header, found no JSON object", path);
  }

  HeaderReader reader(path);
  nlohmann::json::sax_parse(header.begin(), header.end(), &reader);

  SafeTensors result;
  result.tensors_.reserve(reader.entries.size());
  for (Entry& entry : reader.entries) {
    result.tensors_.push_back(make_tensor(path, std::move(entry), data));
  }
  check_coverage(path, result.tensors_, data);
  result.metadata_ = std::move(reader.metadata);
  result.owner_ = std::move(owner);
  return result;
}

const NamedTensor* SafeTensors::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, &NamedTensor::name);
  return found == tensors_.end() ? nullptr : &*found;
}

}  // namespace vig
