// HEIF files made for tests: one coded image or a grid of them, with as many lies as needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vig/image/heif_container.h"

namespace vig::test {

inline std::string big_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += i < 8 ? static_cast<char>(value >> 8 * i) : 0;
  return text;
}

inline std::string box(const std::string& type, const std::string& contents) {
  return big_endian(contents.size() + 8, 4) + type + contents;
}
inline std::string full_box(const std::string& type, const std::string& contents,
                            uint64_t version = 0) {
  return box(type, big_endian(version << 24, 4) + contents);
}

inline std::string text_of(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

// One item of the file: a coded image, or anything else by its type.
struct HeifItemBytes {
  std::string type = "av01";
  std::string config;  // of the decoder
  uint32_t width = 0, height = 0;
  std::string data;
  std::string transforms;  // boxes
};

// Item 1 is the primary image. `tiles` are the items that it is made of.
struct HeifBytes {
  std::vector<HeifItemBytes> items;
  std::vector<uint32_t> tiles;

  std::string file() const {
    const std::string start = box("ftyp", "avif" + big_endian(0, 4) + "mif1avif");
    const size_t at = start.size() + meta(0).size() + 8;
    std::string data;
    for (const HeifItemBytes& item : items) data += item.data;
    return start + meta(at) + box("mdat", data);
  }

 private:
  std::string meta(size_t at) const {
    std::string infos, locations, properties, associations;
    int property = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const HeifItemBytes& item = items[i];
      const std::string id = big_endian(i + 1, 2);
      infos += full_box("infe", id + big_endian(0, 2) + item.type + big_endian(0, 1), 2);
      locations += id + big_endian(0, 2) + big_endian(1, 2) + big_endian(at, 4) +
                   big_endian(item.data.size(), 4);
      at += item.data.size();
      std::string own;
      if (!item.config.empty()) own += box(item.type == "hvc1" ? "hvcC" : "av1C", item.config);
      own += full_box("ispe", big_endian(item.width, 4) + big_endian(item.height, 4));
      own += item.transforms;
      int count = 0;
      for (size_t p = 0; p < own.size(); ++count) {
        uint32_t size = 0;
        for (int k = 0; k < 4; ++k) size = size << 8 | static_cast<uint8_t>(own[p + k]);
        p += size;
      }
      properties += own;
      associations += id + big_endian(static_cast<uint64_t>(count), 1);
      for (int k = 0; k < count; ++k)
        associations += big_endian(static_cast<uint64_t>(++property), 2);
    }
    std::string references;
    if (!tiles.empty()) {
      std::string list = big_endian(1, 2) + big_endian(tiles.size(), 2);
      for (const uint32_t tile : tiles) list += big_endian(tile, 2);
      references = full_box("iref", box("dimg", list));
    }
    return full_box(
        "meta",
        full_box("hdlr", big_endian(0, 4) + "pict" + std::string(13, '\0')) +
            full_box("pitm", big_endian(1, 2)) +
            full_box("iinf", big_endian(items.size(), 2) + infos) + references +
            full_box("iloc", big_endian(0x4400, 2) + big_endian(items.size(), 2) + locations) +
            box("iprp",
                box("ipco", properties) +
                    box("ipma", big_endian(1, 4) + big_endian(items.size(), 4) + associations)));
  }
};

// The first coded image of a file as an item.
inline HeifItemBytes item_of(std::span<const uint8_t> file) {
  const CodedImage image = read_heif_container(file, "seed").tiles.at(0);
  HeifItemBytes item;
  item.type = image.codec == HeifCodec::kHevc ? "hvc1" : "av01";
  item.config = text_of(image.config);
  item.width = static_cast<uint32_t>(image.width);
  item.height = static_cast<uint32_t>(image.height);
  for (const auto& part : image.parts) item.data += text_of(part);
  return item;
}

}  // namespace vig::test
