#include "vig/image/heif_container.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "vig/base/error.h"
#include "vig/image/heif_boxes.h"

namespace vig {
namespace {

constexpr int64_t kMaxTiles = 1024;
constexpr int64_t kMinTileSide = 64;  // as the standard demands of grids

class Container {
 public:
  Container(std::span<const uint8_t> bytes, const std::string& name)
      : boxes_(bytes, name), name_(name) {}

  HeifImage primary() const {
    HeifImage image;
    const uint32_t type = boxes_.item_type(boxes_.primary());
    if (type == box_tag("grid")) {
      read_grid(image);
    } else {
      image.tiles.push_back(coded_image(boxes_.primary()));
      image.width = image.tiles[0].width;
      image.height = image.tiles[0].height;
    }
    read_transforms(image);
    return image;
  }

 private:
  CodedImage coded_image(uint32_t id) const {
    CodedImage image;
    const uint32_t type = boxes_.item_type(id);
    if (type == box_tag("av01")) {
      image.codec = HeifCodec::kAv1;
    } else if (type != box_tag("hvc1")) {
      fail("{}: a HEIF image of type {}, expected hvc1, av01 or a grid of them", name_,
           type_name(type));
    }
    const uint32_t config = image.codec == HeifCodec::kAv1 ? box_tag("av1C") : box_tag("hvcC");
    for (const HeifBox& box : boxes_.properties_of(id)) {
      if (box.type == config) image.config = box.contents;
      if (box.type == box_tag("ispe")) std::tie(image.width, image.height) = read_size(box);
      if (box.type == box_tag("colr") && box.contents.size() >= 4 &&
          boxes_.reader(box.contents).be32() == box_tag("nclx")) {
        image.colour = box.contents;
      }
    }
    if (image.config.empty()) boxes_.damaged(fmt::format("item {} has no decoder settings", id));
    if (image.width == 0) boxes_.damaged(fmt::format("item {} has no size", id));
    image.parts = boxes_.item_data(id);
    return image;
  }

  // Types are four characters; those of a damaged file are anything.
  static std::string type_name(uint32_t type) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) {
      const auto c = static_cast<char>(type >> shift & 0xFF);
      text += c >= ' ' && c <= '~' ? c : '?';
    }
    return text;
  }

  std::pair<int64_t, int64_t> read_size(const HeifBox& box) const {
    ByteReader in = boxes_.reader(box.contents);
    HeifBoxes::version(in);
    const int64_t width = in.be32(), height = in.be32();
    return {width, height};
  }

  void read_grid(HeifImage& image) const {
    const auto parts = boxes_.item_data(boxes_.primary());
    if (parts.empty()) boxes_.damaged("a grid without data");
    ByteReader in = boxes_.reader(parts[0]);
    in.skip(1);  // version
    const size_t size = (in.u8() & 1) != 0 ? 4 : 2;
    image.rows = in.u8() + 1;
    image.columns = in.u8() + 1;
    image.width = static_cast<int64_t>(in.big_endian(size));
    image.height = static_cast<int64_t>(in.big_endian(size));

    const std::vector<uint32_t> ids = boxes_.sources_of(boxes_.primary());
    const int64_t count = image.rows * image.columns;
    if (static_cast<int64_t>(ids.size()) != count) {
      boxes_.damaged(
          fmt::format("{} tiles for a grid of {}x{}", ids.size(), image.columns, image.rows));
    }
    if (count > kMaxTiles) {
      fail("{}: a grid of {} tiles, expected at most {} (a fixed limit)", name_, count, kMaxTiles);
    }
    uint64_t total = 0;
    for (const uint32_t id : ids) {
      image.tiles.push_back(coded_image(id));
      total += image.tiles.back().data_bytes();
    }
    if (total > boxes_.file_bytes()) boxes_.damaged("tiles share their data");
    check_grid(image);
  }

  // The tiles must be of one size and none of them beyond the image.
  void check_grid(const HeifImage& image) const {
    const int64_t width = image.tiles[0].width, height = image.tiles[0].height;
    const auto fits = [](int64_t whole, int64_t tiles, int64_t side) {
      return tiles * side >= whole && (tiles - 1) * side < whole &&
             (tiles == 1 || side >= kMinTileSide);
    };
    for (const CodedImage& tile : image.tiles) {
      if (tile.width != width || tile.height != height) boxes_.damaged("tiles of different sizes");
    }
    if (!fits(image.width, image.columns, width) || !fits(image.height, image.rows, height)) {
      boxes_.damaged(fmt::format("{}x{} tiles of {}x{} pixels for an image of {}x{}", image.columns,
                                 image.rows, width, height, image.width, image.height));
    }
  }

  // Each kind at most once, as the standard demands: every one of them is a pass over the image.
  void read_transforms(HeifImage& image) const {
    using Kind = HeifTransform::Kind;
    int64_t width = image.width, height = image.height;
    std::set<uint32_t> seen;
    for (const HeifBox& box : boxes_.properties_of(boxes_.primary())) {
      ByteReader in = boxes_.reader(box.contents);
      if (box.type != box_tag("irot") && box.type != box_tag("imir") &&
          box.type != box_tag("clap")) {
        continue;
      }
      if (!seen.insert(box.type).second) {
        boxes_.damaged(fmt::format("two boxes {} for one image", type_name(box.type)));
      }
      if (box.type == box_tag("irot")) {
        const int turns = in.u8() & 3;
        for (int i = 0; i < turns; ++i) {
          image.transforms.push_back({.kind = Kind::kTurnLeft});
          std::swap(width, height);
        }
      } else if (box.type == box_tag("imir")) {
        image.transforms.push_back(
            {.kind = (in.u8() & 1) == 0 ? Kind::kFlipRows : Kind::kFlipColumns});
      } else {
        const HeifTransform crop = read_crop(in, width, height);
        width = crop.width;
        height = crop.height;
        image.transforms.push_back(crop);
      }
    }
  }

  // Fractions: width, height, and how far the centre is from the image's.
  HeifTransform read_crop(ByteReader& in, int64_t width, int64_t height) const {
    double value[4];
    for (double& v : value) {
      const auto numerator = static_cast<int32_t>(in.be32());
      const uint32_t denominator = in.be32();
      if (denominator == 0) boxes_.damaged("a crop with a denominator of 0");
      v = static_cast<double>(numerator) / denominator;
    }
    HeifTransform crop = {.kind = HeifTransform::Kind::kCrop};
    crop.width = std::llround(value[0]);
    crop.height = std::llround(value[1]);
    crop.left = std::llround((static_cast<double>(width) - value[0]) / 2 + value[2]);
    crop.top = std::llround((static_cast<double>(height) - value[1]) / 2 + value[3]);
    if (crop.width < 1 || crop.height < 1 || crop.left < 0 || crop.top < 0 ||
        crop.left + crop.width > width || crop.top + crop.height > height) {
      boxes_.damaged(fmt::format("a crop to {}x{} at ({}, {}) of an image of {}x{}", crop.width,
                                 crop.height, crop.left, crop.top, width, height));
    }
    return crop;
  }

  HeifBoxes boxes_;
  const std::string& name_;
};

}  // namespace

uint64_t CodedImage::data_bytes() const {
  uint64_t total = 0;
  for (const auto& part : parts) total += part.size();
  return total;
}

HeifImage read_heif_container(std::span<const uint8_t> bytes, const std::string& name) {
  return Container(bytes, name).primary();
}

}  // namespace vig
