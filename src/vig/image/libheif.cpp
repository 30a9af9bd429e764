#include "vig/image/libheif.h"

#include <dlfcn.h>
#include <libheif/heif.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/decode.h"
#include "vig/image/heif_boxes.h"

namespace vig {
namespace {

constexpr const char* kLibrary = "libheif.so.1";

// The functions of the library. It stays loaded to the end of the process.
class Library {
 public:
  static const Library& get(const std::string& name) {
    static const Library library;
    if (!library.problem_.empty()) {
      fail("{}: HEIC and AVIF are read by {} (Debian package libheif1), which cannot be loaded: {}",
           name, kLibrary, library.problem_);
    }
    return library;
  }

 private:
  // A function of the type it is assigned to.
  struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };

  Symbol find(const char* function) {
    void* address = library_ == nullptr ? nullptr : dlsym(library_, function);
    if (address == nullptr && problem_.empty()) problem_ = dlerror();
    return {address};
  }

  std::string problem_;
  void* library_ = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);

 public:
  decltype(&heif_context_alloc) context_alloc = find("heif_context_alloc");
  decltype(&heif_context_free) context_free = find("heif_context_free");
  decltype(&heif_context_set_max_decoding_threads) set_max_decoding_threads =
      find("heif_context_set_max_decoding_threads");
  decltype(&heif_context_read_from_memory_without_copy) read_from_memory =
      find("heif_context_read_from_memory_without_copy");
  decltype(&heif_context_get_primary_image_handle) get_primary_image_handle =
      find("heif_context_get_primary_image_handle");
  decltype(&heif_image_handle_release) image_handle_release = find("heif_image_handle_release");
  decltype(&heif_decoding_options_alloc) options_alloc = find("heif_decoding_options_alloc");
  decltype(&heif_decoding_options_free) options_free = find("heif_decoding_options_free");
  decltype(&heif_decode_image) decode_image = find("heif_decode_image");
  decltype(&heif_image_get_width) image_get_width = find("heif_image_get_width");
  decltype(&heif_image_get_height) image_get_height = find("heif_image_get_height");
  decltype(&heif_image_get_plane_readonly) image_get_plane = find("heif_image_get_plane_readonly");
  decltype(&heif_image_release) image_release = find("heif_image_release");
};

// Writes boxes: begin(type) ... end() around their contents.
class BoxWriter {
 public:
  void begin(const char (&type)[5]) {
    open_.push_back(bytes_.size());
    number(0, 4);
    number(box_tag(type), 4);
  }
  // With a version and flags.
  void begin(const char (&type)[5], uint32_t version) {
    begin(type);
    number(version << 24, 4);
  }
  void end() {
    const uint64_t size = bytes_.size() - open_.back();
    for (size_t i = 0; i < 4; ++i) {
      bytes_[open_.back() + i] = static_cast<uint8_t>(size >> (24 - 8 * i));
    }
    open_.pop_back();
  }
  void number(uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) bytes_.push_back(static_cast<uint8_t>(value >> 8 * i));
  }
  void append(std::span<const uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }
  size_t size() const { return bytes_.size(); }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<size_t> open_;
};

// The smallest file around one coded image.
std::vector<uint8_t> make_file(const CodedImage& coded, std::span<const uint8_t> data) {
  const bool av1 = coded.codec == HeifCodec::kAv1;
  const size_t boxes = coded.config.size() + coded.colour.size() + 512;
  BoxWriter out;
  out.reserve(boxes + data.size());
  out.begin("ftyp");
  for (const uint32_t brand : {av1 ? box_tag("avif") : box_tag("heic"), 0u, box_tag("mif1"),
                               av1 ? box_tag("avif") : box_tag("heic")}) {
    out.number(brand, 4);
  }
  out.end();
  // Before the boxes that describe it, so that its offset is known when they are written.
  out.begin("mdat");
  const size_t data_at = out.size();
  out.append(data);
  out.end();
  out.begin("meta", 0);
  out.begin("hdlr", 0);
  out.number(0, 4);
  out.number(box_tag("pict"), 4);
  out.number(0, 8);
  out.number(0, 5);  // three reserved numbers, of which this is the rest, and an empty name
  out.end();
  out.begin("pitm", 0);
  out.number(1, 2);
  out.end();
  out.begin("iloc", 0);
  out.number(0x4400, 2);  // offsets and lengths of 4 bytes, no base
  out.number(1, 2);       // one item
  out.number(1, 2);       // its number
  out.number(0, 2);       // in this file
  out.number(1, 2);       // one extent
  out.number(data_at, 4);
  out.number(data.size(), 4);
  out.end();
  out.begin("iinf", 0);
  out.number(1, 2);
  out.begin("infe", 2);
  out.number(1, 2);
  out.number(0, 2);
  out.number(av1 ? box_tag("av01") : box_tag("hvc1"), 4);
  out.number(0, 1);
  out.end();
  out.end();
  out.begin("iprp");
  out.begin("ipco");
  if (av1) {
    out.begin("av1C");
  } else {
    out.begin("hvcC");
  }
  out.append(coded.config);
  out.end();
  out.begin("ispe", 0);
  out.number(static_cast<uint64_t>(coded.width), 4);
  out.number(static_cast<uint64_t>(coded.height), 4);
  out.end();
  const int properties = coded.colour.empty() ? 2 : 3;
  if (properties == 3) {
    out.begin("colr");
    out.append(coded.colour);
    out.end();
  }
  out.end();
  out.begin("ipma", 0);
  out.number(1, 4);  // one item
  out.number(1, 2);  // its number
  out.number(static_cast<uint64_t>(properties), 1);
  for (int i = 1; i <= properties; ++i) out.number(0x80u | static_cast<unsigned>(i), 1);
  out.end();
  out.end();
  out.end();
  return out.take();
}

void check(const heif_error& error, const CodedImage& coded, const std::string& name) {
  if (error.code == heif_error_Ok) return;
  if (error.code == heif_error_Memory_allocation_error &&
      error.subcode != heif_suberror_Security_limit_exceeded) {
    throw std::bad_alloc();
  }
  fail("{}: damaged {}: {}", name, coded.codec == HeifCodec::kAv1 ? "AVIF" : "HEIC", error.message);
}

}  // namespace

Image decode_coded(const CodedImage& coded, std::span<const uint8_t> data,
                   const std::string& name) {
  const Library& heif = Library::get(name);
  const std::vector<uint8_t> file = make_file(coded, data);
  const std::unique_ptr<heif_context, decltype(heif.context_free)> context(heif.context_alloc(),
                                                                           heif.context_free);
  const std::unique_ptr<heif_decoding_options, decltype(heif.options_free)> options(
      heif.options_alloc(), heif.options_free);
  if (context == nullptr || options == nullptr) throw std::bad_alloc();
  heif.set_max_decoding_threads(context.get(), 0);  // none beside the caller's
  check(heif.read_from_memory(context.get(), file.data(), file.size(), nullptr), coded, name);

  heif_image_handle* raw_handle = nullptr;
  check(heif.get_primary_image_handle(context.get(), &raw_handle), coded, name);
  const std::unique_ptr<heif_image_handle, decltype(heif.image_handle_release)> handle(
      raw_handle, heif.image_handle_release);
  options->convert_hdr_to_8bit = 1;
  heif_image* raw_image = nullptr;
  check(heif.decode_image(handle.get(), &raw_image, heif_colorspace_RGB,
                          heif_chroma_interleaved_RGB, options.get()),
        coded, name);
  const std::unique_ptr<heif_image, decltype(heif.image_release)> decoded(raw_image,
                                                                          heif.image_release);
  const int width = heif.image_get_width(decoded.get(), heif_channel_interleaved);
  const int height = heif.image_get_height(decoded.get(), heif_channel_interleaved);
  int stride = 0;
  const uint8_t* plane = heif.image_get_plane(decoded.get(), heif_channel_interleaved, &stride);
  if (plane == nullptr || width != coded.width || height != coded.height) {
    fail("{}: damaged HEIC or AVIF: a coded image of {}x{} pixels, expected {}x{}", name, width,
         height, coded.width, coded.height);
  }
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    std::copy_n(plane + static_cast<ptrdiff_t>(y) * stride, image.row_bytes(), image.row(y));
  }
  return image;
}

}  // namespace vig
